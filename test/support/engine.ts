/** What most tests of the engine begin with. */
export { models } from "../../recipes/models.ts";
export { greyPng, plainWav } from "../../src/core/kit/placeholder-media.ts";
export { builtInCatalog } from "./built-in-catalog.ts";
export { apiError, FakePaidService, type FakeServiceOptions, OUTPUT_BYTES, unanswered } from "./fake-paid-service.ts";
export { during, type FakeShow, openFakeShow } from "./fake-showrunner.ts";
export { apiCallError, filmBy, MockProvider } from "./mock-models.ts";
export { pictures, pipelineOf } from "./pipelines.ts";
export { attemptsOf, eventsOf, statusesOf, stepOf, whysOf } from "./run-facts.ts";
export { isFull, points, sampled } from "./sample.ts";
export { SimulatedClock, settle, skippingClock } from "./simulated-clock.ts";
export { newFolder } from "./temporary-folder.ts";
export { PIXEL, TINY_MP4 } from "./tiny-media.ts";
