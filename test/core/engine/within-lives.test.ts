import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { pipeline } from "../../../src/index.ts";
import { type FakeShow, isFull, models, openFakeShow } from "../../support/engine.ts";
import { mortalProcess } from "../../support/mortal-process.ts";

const MINUTE_MS = 60_000;
const within = "10m";

/** A chain and a choice side by side, so that either may be late while the other goes on. */
const both = pipeline("both", {
  input: z.object({ chain: z.boolean(), choice: z.boolean() }),
  build: ({ job, firstOf, input: { chain, choice } }) => ({
    ...(chain && {
      end: job("end", models.image, { prompt: "end", images: [job("p", models.image, { prompt: "p" }, { within })] }),
    }),
    ...(choice && {
      film: job("film", models.image, {
        prompt: "film",
        images: [
          firstOf("face", [
            (b) => b.job("a", models.image, { prompt: "a" }, { within }),
            (b) => {
              const b0 = b.job("b0", models.image, { prompt: "b0" });
              return b.job("b", models.image, { prompt: "b", images: [b0] }, { within });
            },
            (b) => b.job("c", models.image, { prompt: "c" }),
          ]),
        ],
      }),
    }),
  }),
});

const minutes = fc.constantFrom(0.2, 5, 9.9, 11, 19, 40, Number.POSITIVE_INFINITY);
const life = fc.record({
  how: fc.constantFrom("slices", "resume", "stop"),
  /** The boundary at which its process dies. */
  dieAt: fc.integer({ min: 1, max: 90 }),
  restMinutes: fc.constantFrom(0, 1, 12, 60),
});
const anyCase = fc.record({
  takes: fc.record({ p: minutes, a: minutes, b0: fc.constantFrom(0.2, 5), b: minutes }),
  /** Whether the first option fails once it ends, and is charged. */
  fails: fc.boolean(),
  parts: fc.constantFrom({ chain: true, choice: false }, { chain: false, choice: true }, { chain: true, choice: true }),
  lives: fc.array(life, { maxLength: 5 }),
});
type Case = typeof anyCase extends fc.Arbitrary<infer T> ? T : never;

/** One process of the run, which may die at a boundary. */
async function live(world: FakeShow, { how, dieAt }: Omit<Case["lives"][number], "restMinutes">, of: Case["parts"]) {
  const { journal, clock, outDir } = world;
  const process = await mortalProcess(world, dieAt);
  const { show } = process;
  const work = async () => {
    if ((await journal.run("x")) === null) await show.start(both, of, { id: "x", outDir });
    if (how === "slices") {
      for (let slices = 0; slices < 40; slices++) {
        const { wakeAt } = await show.engine.slice("x");
        if (wakeAt === null || wakeAt > clock.now() + 12 * 60 * MINUTE_MS) return;
        await clock.advance(Math.max(0, wakeAt - clock.now()));
      }
      return;
    }
    const handle = await show.resume("x");
    if (how === "stop") process.setTimer(dieAt * MINUTE_MS, () => void handle.stop());
    await handle.result();
  };
  await process.live(work(), 20_000);
}

async function prove({ takes, fails, parts, lives }: Case): Promise<void> {
  const takesMs = (body: string) => {
    const prompt = /"prompt":"(\w+)"/.exec(body)?.[1] as keyof typeof takes;
    return (takes[prompt] ?? 0.2) * MINUTE_MS;
  };
  const isLost = fails && takes.a !== Number.POSITIVE_INFINITY;
  const world = await openFakeShow({
    takesMs,
    fails: (_, body) => (isLost && body.includes('"a"') ? { code: "INTERNAL", retryable: false } : null),
    shows: ({ error }) => (error === null ? {} : { costMicros: 100_000 }),
  });
  const { clock, paidService, journal, show } = world;
  for (const { restMinutes, ...one } of lives) {
    await live(world, one, parts);
    await clock.advance(restMinutes * MINUTE_MS);
  }
  const forever = Number.POSITIVE_INFINITY;
  for (let calm = 0; calm < 5; calm++) {
    await live(world, { how: calm % 2 === 0 ? "resume" : "slices", dieAt: forever }, parts);
    await clock.advance(30 * MINUTE_MS);
  }
  const report = await show.show("x");
  const events = (await journal.read("x")).map(({ event }) => event);
  const at = (type: string, step: string) =>
    events.findIndex((event) => event.type === type && "step" in event && event.step === step);
  // Purchases are those that were asked for: each once, and an option only beside one that was late.
  const prompts = [...paidService.jobs.values()].map(({ body }) => (JSON.parse(body) as { prompt: string }).prompt);
  expect(prompts.length).toBe(new Set(prompts).size);
  for (const [before, option, path] of [
    ["face/1/a", "face/2/b0", "b0"],
    ["face/2/b", "face/3/c", "c"],
  ] as const) {
    if (!prompts.includes(path)) continue;
    expect(at("step.overdue", before)).toBeGreaterThan(-1);
    expect(at("step.overdue", before)).toBeLessThan(at("job.submit.intended", option));
  }
  // The budget counts all of them, billed or reserved.
  const micros = (usd: string) => Math.round(Number(usd) * 1_000_000);
  expect(micros(report.cost) + micros(report.held)).toBe(paidService.chargedMicros);
  // What ends is collected, with its file; what does not is named.
  for (const { path, status, attempts, outputs } of report.steps) {
    const prompt = path.split("/").at(-1)! as keyof typeof takes;
    if (attempts.length === 0 || path.endsWith("pick")) continue;
    if (takes[prompt] === forever) {
      expect([status, attempts[0]!.status]).toEqual([expect.stringMatching(/running|failed/), "inProgress"]);
      if (report.status !== "paused") expect(report.message).toContain(`${path}: the run stopped waiting`);
      continue;
    }
    if (isLost && prompt === "a") expect(status).toBe("failed");
    else expect([path, status, outputs[0]?.sha256]).toEqual([path, "succeeded", expect.any(String)]);
  }
  const isEndless = parts.chain && takes.p === forever;
  // What failed in time, and cost something, is followed by nothing.
  const isOver = parts.choice && isLost && !prompts.includes("b0");
  if (isOver) expect(at("step.overdue", "face/1/a")).toBe(-1);
  else expect(report.status).toBe(isEndless ? "paused" : "succeeded");
  if (isEndless && !isOver) expect(report.pause?.reason).toBe("late");
}

test("killed, stopped, driven and resumed at any moment, every late job is bought once, counted and collected [G1]", async () => {
  await fc.assert(fc.asyncProperty(anyCase, prove), { numRuns: isFull ? 1_000 : 8, endOnFailure: true });
}, 900_000);
