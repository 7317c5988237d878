import { expect, test } from "vitest";
import { apiError, during, models, openFakeShow, pipelineOf, unanswered } from "../../support/engine.ts";

const dayMs = 24 * 3_600_000;
const one = pipelineOf("one", ({ job }) => ({ a: job("a", models.image, { prompt: "a" }) }));

/** A service that does not find its jobs until `find` is called. */
async function hidingJobs() {
  let isHidden = true;
  const world = await openFakeShow({
    client: ({ follow }) => ({
      follow: (...job) => {
        if (isHidden) throw apiError(404, "NOT_FOUND");
        return follow(...job);
      },
    }),
  });
  const find = () => {
    isHidden = false;
  };
  return { ...world, find };
}

test("An unanswered submit is sent again under its key for a day, and then never: a person finds its job [G4]", async () => {
  let answers = false;
  const keys: string[] = [];
  // The service accepts it every time; its answer gets lost.
  const { show, clock, outDir, journal, paidService, resume } = await openFakeShow({
    client: ({ submit }) => ({
      submit: async (request, options) => {
        keys.push(request.idempotencyKey ?? "");
        const ack = await submit(request, options);
        if (answers) return ack;
        throw unanswered(request.model);
      },
    }),
  });
  const run = await during(clock, show.run(one, {}, { id: "x", outDir }));
  clock.setTimer(60_000, () => void run.stop());
  expect((await during(clock, run.result())).pause?.reason).toBe("stopped");
  const sends = keys.length;
  expect(sends).toBeGreaterThan(2);
  expect([new Set(keys).size, paidService.jobs.size]).toEqual([1, 1]);

  answers = true;
  await clock.advance(dayMs);
  const late = await resume();
  expect(late.pause?.reason).toBe("unresolved");
  expect(late.pause?.message).toContain("too old");
  expect(keys.length).toBe(sends);
  expect((await journal.ledger("x")).heldMicros).toBe(100_000);
  await show.adopt("x", "a", "job_1");
  const done = await resume();
  expect([done.status, keys.length, paidService.jobs.size]).toEqual(["succeeded", sends, 1]);
});

test("A job that a person names while the run goes on is collected by that drive, though it was looked for in vain before", async () => {
  const { show, clock, outDir, find } = await hidingJobs();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const both = pipelineOf("both", ({ job, task }) => ({
    a: job("a", "image-1", { prompt: "a" }),
    other: task("other", {}, () => released.then(() => "done")),
  }));
  const run = await during(clock, show.run(both, {}, { id: "x", outDir }));
  const result = run.result();
  const status = async () => (await show.show("x")).steps[0]!.status;
  await during(clock, expect.poll(status).toBe("unresolved"));
  // Once more, and then it is left to a person.
  await clock.advance(600_000);
  find();
  await show.adopt("x", "a", "job_1");
  await during(clock, expect.poll(status, { timeout: 20_000 }).toBe("succeeded"));
  release();
  expect((await during(clock, result)).status).toBe("succeeded");
});

test("A job that reads as missing is not submitted again: its money stays held, and it can be continued [G7]", async () => {
  const { show, journal, paidService, resume, run, find } = await hidingJobs();
  const paused = await run(one);
  expect(paused.pause?.reason).toBe("unresolved");
  expect(paused.report.steps[0]).toMatchObject({ status: "unresolved", reason: expect.stringContaining("job_1") });
  expect([paidService.submits, (await journal.ledger("x")).heldMicros]).toEqual([1, 100_000]);

  find();
  expect((await show.candidates("x", "a")).map(({ jobId }) => jobId)).toEqual(["job_1"]);
  await show.adopt("x", "a", "job_1");
  const done = await resume();
  expect([done.status, paidService.submits, done.cost.micros]).toEqual(["succeeded", 1, 100_000]);
});

test("a job that a read did not find is found by a later resume, without a person [G7]", async () => {
  const { paidService, resume, run, find } = await hidingJobs();
  expect((await run(one)).pause?.reason).toBe("unresolved");
  find();
  expect([(await resume()).status, paidService.submits]).toEqual(["succeeded", 1]);
});
