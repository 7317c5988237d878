import { expect, test } from "vitest";
import { during, openFakeShow } from "../../support/fake-showrunner.ts";
import { MockProvider } from "../../support/mock-models.ts";
import { pipelineOf } from "../../support/pipelines.ts";

const filmOf = (provider: MockProvider) =>
  pipelineOf("film", ({ generate }) => ({
    film: generate("film", provider.startingVideo(), { prompt: "a red boat" }, { maxCost: "0.50" }),
  }));

test("an operation that was left to a person waits for no code: a resume without its model says the same", async () => {
  const provider = new MockProvider();
  provider.status = () => ({ status: "completed", videos: [] });
  const film = filmOf(provider);
  const world = await openFakeShow();
  const unresolved = { status: "paused", pause: { reason: "unresolved" }, report: { held: "0.50" } };
  expect(await world.run(film)).toMatchObject(unresolved);
  expect(await world.resume()).toMatchObject(unresolved);
});

test("in slices, too, an operation that was left to a person waits for no code", async () => {
  const provider = new MockProvider();
  provider.status = () => ({ status: "completed", videos: [] });
  const film = filmOf(provider);
  const { show, clock, outDir } = await openFakeShow();
  await show.start(film, {}, { id: "x", outDir });
  const slice = (of: typeof film | null) =>
    during(clock, show.engine.slice("x", { findPipeline: async () => of, anew: true }));
  let ended = await slice(film);
  for (let n = 0; ended.status === "running" && n < 30; n++) {
    await clock.advance(Math.max(0, ended.wakeAt! - clock.now()));
    ended = await slice(film);
  }
  expect(ended).toMatchObject({ status: "paused", driven: { pause: "unresolved" } });
  const asked = provider.asked;
  // A resume by somebody without the code, which an engine then drives.
  const after = await during(clock, show.engine.slice("x", { findPipeline: async () => null, resume: {} }));
  expect(after).toMatchObject({ status: "paused", driven: { pause: "unresolved" } });
  expect(await slice(null)).toMatchObject({ status: "paused" });
  expect(provider.asked).toBe(asked);
});
