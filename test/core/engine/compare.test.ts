import { describe, expect, test } from "vitest";
import { z } from "zod";
import { pipeline } from "../../../src/index.ts";
import { models, openFakeShow } from "../../support/engine.ts";

/** voice → three lines; a picture beside them. */
const lines = pipeline("lines", {
  input: z.object({ voice: z.string().default("narrator"), more: z.boolean().default(false) }),
  build({ input, job }) {
    const sample = job("sample", models.speech, { text: "hello", voice_id: "voice_stock" });
    const voice = job("voice", models.voiceClone, { audio: sample, name: input.voice });
    const spoken = ["one", "two", "three"].map((text) => job(text, models.speech, { text, voice_id: voice }));
    const picture = job("picture", models.image, { prompt: "a lighthouse" });
    const extra = input.more ? [job("extra", models.image, { prompt: "more" })] : [];
    return { spoken, picture, extra };
  },
});

/** After a run `one`. */
async function ran(options: Parameters<typeof openFakeShow>[0] = {}) {
  const world = await openFakeShow(options);
  await world.run(lines, {}, { id: "one" });
  return world;
}

describe("compared with an earlier run, a plan", () => {
  test("names what changed, what that makes stale, why, and for how much", async () => {
    const world = await ran();
    const held = await world.show.compare(lines, { voice: "aunt" }, { against: "one" });
    const uses = ["one", "two", "three"].map((path) => ({ path, cause: "uses" }));
    const why = 'voice changed: input.name was "narrator", is "aunt"';
    expect(held).toMatchObject({
      ...{ ok: true, summary: "voice changed: 4 of 6 steps stale, 0.40 USD" },
      stale: [{ path: "voice", cause: "changed", why }, ...uses],
      prices: ["voice", "one", "two", "three"].map((step) => ({ step })),
      totalMicros: { min: 400_000, max: 400_000 },
    });
    expect(world.paidService.jobs.size).toBe(6);
  });

  test("that asks for the same has nothing stale", async () => {
    const held = await (await ran()).show.compare(lines, {}, { against: "one" });
    const summary = "nothing changed: 0 of 6 steps stale, 0.00 USD";
    expect(held).toMatchObject({ stale: [], totalMicros: { min: 0, max: 0 }, summary });
  });

  test("counts new steps, steps that failed there, and removed steps", async () => {
    const fails = (_: string, body: string) =>
      body.includes("two") ? { code: "INVALID_ARGUMENT", retryable: false } : null;
    const world = await ran({ fails });
    const more = await world.show.compare(lines, { more: true }, { against: "one" });
    expect(more.summary).toBe("extra new, two not made: 2 of 7 steps stale, 0.20 USD");
    expect(more.stale.find(({ path }) => path === "two")?.why).toBe("two was failed in run one");
    await world.run(lines, { more: true }, { id: "two" });
    const less = await world.show.compare(lines, {}, { against: "two" });
    expect(less.summary).toBe("two not made, extra removed: 1 of 6 steps stale, 0.10 USD");
  });

  test("prices reusable results of later runs at zero", async () => {
    const world = await ran();
    await world.run(lines, { voice: "aunt" }, { id: "two" });
    const held = await world.show.compare(lines, { voice: "aunt" }, { against: "one", reuse: true });
    expect(held.summary).toBe("voice changed: 4 of 6 steps stale, 0.00 USD");
  });

  test("with problems is not compared, and an unknown run is an error", async () => {
    const { show } = await ran();
    const held = await show.compare(lines, { voice: 5 } as never, { against: "one" });
    expect(held).toMatchObject({ ok: false, plan: null, stale: [], problems: [{}] });
    await expect(show.compare(lines, {}, { against: "nope" })).rejects.toMatchObject({ code: "RUN_UNKNOWN" });
  });
});
