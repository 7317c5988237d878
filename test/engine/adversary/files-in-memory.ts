import { vi } from "vitest";

/** Imported before all else by a test that lives simulated lives: their files are in memory, wherever a file is written or looked at. */
vi.mock("../../../src/api/files/part-file.ts", () => import("./sim-media.ts"));
vi.mock("../../../src/engine/media/output-damage.ts", async (original) => {
  const { DamagedOutputError } = await original<typeof import("../../../src/engine/media/output-damage.ts")>();
  const { damageOf } = await import("./sim-media.ts");
  const downloadOutput: typeof import("../../../src/engine/media/output-damage.ts").downloadOutput = async (
    client,
    source,
    { target, stated: _, ...options },
  ) => {
    const got = await client.download(source, target, options);
    const damage = await damageOf(target);
    if (damage !== null) throw new DamagedOutputError(source, damage);
    return got;
  };
  return { DamagedOutputError, damageOf, downloadOutput };
});
vi.mock("../../../src/engine/media/fetch-file.ts", () => import("./sim-fetch.ts"));
vi.mock("../../../src/engine/media/measure-media.ts", () => import("./sim-measure.ts"));
