import { vi } from "vitest";

/** Keeps the files of simulated lives in memory, wherever a file is written or read. Tests must import this module first. */
vi.mock("../../../../src/core/api/files/part-file.ts", () => import("./sim-media.ts"));
vi.mock("../../../../src/core/engine/media/open-file.ts", async (original) => ({
  ...(await original<object>()),
  ...(await import("./sim-fetch.ts")),
}));
vi.mock("../../../../src/core/engine/media/media-reader.ts", async (original) => ({
  ...(await original<object>()),
  ...(await import("./sim-measure.ts")),
}));
