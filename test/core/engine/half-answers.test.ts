import { describe, expect, test } from "vitest";
import { DownloadError, type JobResult } from "../../../src/core/api/index.ts";
import type { RunResult } from "../../../src/index.ts";
import { during, eventsOf, type FakeShow, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

const pair = pipelineOf("pair", ({ job }) => ({
  a: job("a", models.image, { prompt: "a", num_outputs: 2 }).outputs(),
}));

type Shows = (job: JobResult) => Partial<JobResult>;
const first = ({ outputs }: JobResult) => outputs[0]!;
const second = (job: JobResult, more: object = {}) => ({ ...first(job), index: 1, ...more });

/** Answers that call the job completed, and are not the whole of it. */
const half: Readonly<Record<string, Shows>> = {
  "no outputs": () => ({ outputs: [] }),
  "fewer outputs than requested": (job) => ({ outputs: [first(job)] }),
  "an output that is not finished": (job) => ({ outputs: [first(job), second(job, { status: "IN_PROGRESS" })] }),
  "an output without asset and URL": (job) => ({ outputs: [first(job), second(job, { assetId: null, url: null })] }),
  "one asset as two outputs": (job) => ({ outputs: [first(job), second(job)] }),
  "another job's answer": () => ({ jobId: "job_77", costMicros: 7 }),
};

async function world(shows: (world: FakeShow) => Shows): Promise<FakeShow> {
  const opened: FakeShow = await openFakeShow({ rendersMs: 0, shows: (job) => shows(opened)(job) });
  return opened;
}

const doubts = async (life: FakeShow) =>
  (await eventsOf(life)).flatMap((event) => (event.type === "job.doubted" ? [event.message] : []));
const whole = ({ status, report }: RunResult) => [
  status,
  report.steps[0]!.outputs.filter(({ sha256 }) => sha256).length,
];

describe.each(Object.entries(half))("A completed job with %s", (_name, shows) => {
  test("for some seconds is read again until it is whole; nothing is bought again", async () => {
    let until = 0;
    const life = await world(({ clock }) => (job) => {
      until ||= clock.now() + 3_000;
      return clock.now() < until ? shows(job) : {};
    });
    const done = await life.run(pair);
    expect(whole(done)).toEqual(["succeeded", 2]);
    expect([life.paidService.submits, done.cost.micros]).toEqual([1, 100_000]);
    expect((await doubts(life)).length).toBe(1);
  });

  test("for longer pauses the run for a person; a plain resume looks again at no cost, as often as wanted [G12]", async () => {
    let isHalf = true;
    const life = await world(() => (job) => (isHalf ? shows(job) : {}));
    const paused = await life.run(pair);
    expect([paused.status, paused.pause?.reason]).toEqual(["paused", "unresolved"]);
    expect(paused.report.next?.command).toBe("showrunner resume x");
    const again = await life.resume();
    expect([again.pause?.reason, (await doubts(life)).length]).toEqual(["unresolved", 1]);
    expect((await life.show.show("x")).next?.command).toBe("showrunner resume x");
    isHalf = false;
    const done = await life.resume();
    expect(whole(done)).toEqual(["succeeded", 2]);
    expect([life.paidService.submits, done.cost.micros]).toEqual([1, 100_000]);
    expect((await life.journal.ledger("x")).heldMicros).toBe(0);
  });
});

test("The time that a half answer is borne with is counted in the journal: a resume continues it", async () => {
  const life = await world(() => () => ({ outputs: [] }));
  const run = await during(life.clock, life.show.run(pair, {}, { id: "x", outDir: life.outDir }));
  life.clock.setTimer(100_000, () => void run.stop());
  expect((await during(life.clock, run.result())).pause?.reason).toBe("stopped");
  const from = life.clock.now();
  expect((await life.resume()).pause?.reason).toBe("unresolved");
  expect(life.clock.now() - from).toBeLessThan(60_000);
});

test("What it cost is recorded with the half answer, and stands when a later answer has no cost", async () => {
  let reads = 0;
  const life = await world(() => () => (++reads === 1 ? { outputs: [] } : { costMicros: null }));
  const done = await life.run(pair);
  expect([...whole(done), done.cost.micros]).toEqual(["succeeded", 2, 100_000]);
});

test("A completed job that reads as under way once more is over all the same", async () => {
  let reads = 0;
  const life = await world(() => () => {
    reads += 1;
    return reads === 1 ? { outputs: [] } : reads === 2 ? { status: "IN_PROGRESS", outputs: [] } : {};
  });
  expect(whole(await life.run(pair))).toEqual(["succeeded", 2]);
  expect(await doubts(life)).toEqual([
    "job_1 has completed but lists no outputs",
    "job_1 had completed, but the service now reports IN_PROGRESS",
  ]);
});

test("A person may keep what there is, without the rest: the outputs that came are collected", async () => {
  const life = await world(() => half["fewer outputs than requested"]!);
  expect((await life.run(pair)).pause?.reason).toBe("unresolved");
  await life.show.adopt("x", "a", null);
  const done = await life.resume();
  expect([...whole(done), done.cost.micros]).toEqual(["succeeded", 1, 100_000]);
});

test("Giving up a job without any output fails its step and keeps its bill; only a rerun that is wanted buys it again", async () => {
  const life = await world(() => (job) => (job.jobId === "job_1" ? { outputs: [] } : {}));
  await life.run(pair);
  await life.show.adopt("x", "a", null);
  const failed = await life.resume();
  expect([failed.status, failed.cost.micros, life.paidService.submits]).toEqual(["failed", 100_000, 1]);
  expect(failed.report.steps[0]!.reason).toBe("the job completed without any output");
  const rerun = await life.resume({ rerun: ["a"] });
  expect([...whole(rerun), life.paidService.submits]).toEqual(["succeeded", 2, 2]);
});

test("An output that was there and vanishes from a later answer is recorded, and fetched once it is back", async () => {
  let reads = 0;
  const life = await openFakeShow({
    client: ({ download }) => ({
      download: async (...how) => {
        if (++reads > 4) return download(...how);
        const reason = reads > 2 ? "expired" : "no-url";
        throw new DownloadError("job_1 has no such output; there is nothing to download.", { reason });
      },
    }),
  });
  expect(whole(await life.run(pair))).toEqual(["succeeded", 2]);
  expect((await doubts(life)).length).toBeGreaterThan(0);
  expect((await eventsOf(life)).map(({ type }) => type)).not.toContain("output.expired");
});

test("In slices a half answer is read again by time, too, and pauses the run when it stays", async () => {
  let isHalf = true;
  const life = await world(() => () => (isHalf ? { outputs: [] } : {}));
  const { show, outDir, drive } = life;
  await show.start(pair, {}, { id: "x", outDir });
  await drive();
  expect(await show.show("x")).toMatchObject({ status: "paused", next: { command: "showrunner resume x" } });
  isHalf = false;
  await show.adopt("x", "a", "job_1");
  expect([(await drive()).at(-1)?.status, life.paidService.submits]).toEqual(["succeeded", 1]);
});
