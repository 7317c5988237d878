import { vi } from "vitest";

/** Imported before all else by a test that lives simulated lives: their files are in memory, wherever a file is written or looked at. */
vi.mock("../../../../src/core/api/files/part-file.ts", () => import("./sim-media.ts"));
vi.mock("../../../../src/core/engine/media/fetch-file.ts", () => import("./sim-fetch.ts"));
vi.mock("../../../../src/core/engine/media/measure-media.ts", () => import("./sim-measure.ts"));
