import { describe, expect, test } from "vitest";
import { fold } from "../../../src/core/journal/events.ts";
import type { PlanProblemsError } from "../../../src/index.ts";
import { apiError, during, models, openFakeShow, pictures, pipelineOf, unanswered } from "../../support/engine.ts";
import { stepOf } from "../../support/run-facts.ts";

/** a → b, and c beside them. */
const chain = pipelineOf("chain", ({ job }) => {
  const a = job("a", models.image, { prompt: "a" });
  const b = job("b", models.image, { prompt: "b", images: [a] });
  const c = job("c", models.image, { prompt: "c" });
  return { b, c };
});

test("a budget below the quote refuses the run before anything is submitted, with both amounts [G20]", async () => {
  const { show, paidService } = await openFakeShow();
  await expect(show.run(pictures, { count: 3 }, { budget: "0.29" })).rejects.toMatchObject({
    ...{ code: "OVER_BUDGET", quoteMicros: 300_000, budgetMicros: 290_000 },
    message: expect.stringContaining("0.30"),
  });
  expect(paidService.submits).toBe(0);
  expect(await show.runs()).toEqual([]);
});

describe("an empty wallet", () => {
  const short = { concurrency: 1, startAnyway: true };

  test("pauses the run with the funding URL; once funded, it completes without repeating a paid step [G27]", async () => {
    const { paidService, run, resume } = await openFakeShow({ balanceMicros: 150_000 });
    const paused = await run(chain, {}, short);
    expect(paused.status).toBe("paused");
    const fundingUrl = "https://paper.test/fund";
    expect(paused.pause).toMatchObject({ reason: "funds", fundingUrl, requiredMicros: 100_000, balanceMicros: 50_000 });
    expect(paidService.jobs.size).toBe(1);
    paidService.balanceMicros += 1_000_000;
    const done = await resume();
    expect([done.status, paidService.jobs.size, done.cost.micros]).toEqual(["succeeded", 3, 300_000]);
  });

  test("that is waited for lets the run continue by itself once it holds the required amount [G27]", async () => {
    const { show, paidService, clock, run } = await openFakeShow({ balanceMicros: 150_000 });
    await run(chain, {}, short);
    clock.setTimer(25_000, () => {
      paidService.balanceMicros += 1_000_000;
    });
    const resumed = await show.resume("x", { waitForFundsMs: 60_000 });
    expect((await during(clock, resumed.result())).status).toBe("succeeded");
    expect(paidService.jobs.size).toBe(3);
    const seen: number[] = [];
    for await (const update of resumed.events()) if (!("type" in update)) seen.push(update.seq);
    expect(seen).toEqual(seen.map((_, index) => index + 1));
  });

  test("that is waited for pauses the run again after the time that was given", async () => {
    const { clock, run, resume } = await openFakeShow({ balanceMicros: 0 });
    await run(chain, {}, short);
    const began = clock.now();
    expect((await resume({ waitForFundsMs: 60_000 })).pause?.reason).toBe("funds");
    expect(clock.now() - began).toBeGreaterThanOrEqual(60_000);
  });
});

describe("a submit whose answer was lost and whose re-send is refused", () => {
  const lostThenRefused = () => {
    let sends = 0;
    return (model: string) => {
      if (++sends === 1) return unanswered(model);
      return sends === 2 ? apiError(422, "MODERATION_FAILED") : null;
    };
  };
  const one = pipelineOf("one", ({ job }) => ({ a: job("a", models.image, { prompt: "a" }) }));

  test("is unresolved, with its hold; a person adopts one of the candidates and the run completes [G4]", async () => {
    const { show, paidService, journal, run, resume } = await openFakeShow({ refuses: lostThenRefused() });
    const paused = await run(one);
    expect(paused).toMatchObject({ status: "paused", pause: { reason: "unresolved" } });
    expect(paused.pause!.message).toContain("showrunner adopt x a");
    expect((await journal.ledger("x")).heldMicros).toBe(100_000);
    // The service did make the job, under another roof.
    const twin = await openFakeShow({ paidService });
    await twin.run(one, {}, { id: "y" });
    const candidates = await show.candidates("x", "a");
    expect(candidates.map(({ jobId }) => jobId)).toEqual(["job_1"]);
    await show.adopt("x", "a", "job_1");
    const done = await resume();
    expect(done.status).toBe("succeeded");
    expect(paidService.jobs.size).toBe(1);
    expect((await journal.ledger("x")).heldMicros).toBe(0);
  });

  test("can be declared lost: the hold is released and the step failed", async () => {
    const { show, paidService, journal, run, resume } = await openFakeShow({ refuses: lostThenRefused() });
    await run(one);
    await show.adopt("x", "a", null);
    const done = await resume();
    expect(done.status).toBe("failed");
    expect(done.report.steps[0]!.reason).toBe("someone confirmed that nothing was generated");
    expect(paidService.jobs.size).toBe(0);
    expect((await journal.ledger("x")).heldMicros).toBe(0);
  });

  test("stops at a first send that is answered with an older job [G6]", async () => {
    const { run } = await openFakeShow({
      client: ({ submit }) => ({
        // Somebody sends the very same key first.
        submit: async (...request) => {
          await submit(...request);
          return submit(...request);
        },
      }),
    });
    const paused = await run(one);
    expect(paused).toMatchObject({ status: "paused", pause: { reason: "unresolved" } });
    expect(paused.pause!.message).toContain("an older job, job_1");
  });

  test("cannot be adopted when it is not unresolved", async () => {
    const { show, run } = await openFakeShow();
    await run(one);
    await expect(show.adopt("x", "a", null)).rejects.toThrow("a is succeeded, not unresolved");
    await expect(show.adopt("x", "zz", null)).rejects.toThrow("has no step zz");
  });
});

describe("a job that fails", () => {
  test("stops only its dependents; finished results stay", async () => {
    const fails = (_model: string, body: string) =>
      body.includes('"prompt":"a"') ? { code: "MODERATION_FAILED", retryable: false } : null;
    const { paidService, run } = await openFakeShow({ fails });
    const result = await run(chain);
    expect(result.status).toBe("partial");
    expect(result.report.steps.map(({ path, status }) => [path, status])).toEqual([
      ["a", "failed"],
      ["b", "skipped"],
      ["c", "succeeded"],
    ]);
    expect(result.report.steps[1]!.reason).toContain("needs a, which failed");
    expect(result.outputs).toMatchObject({ b: null, c: { contentType: "image/png" } });
    expect(paidService.jobs.size).toBe(2);
    expect(result.report.held).toBe("0.00");
  });

  test("is submitted again, under another key, only when it cost nothing and the failure is transient", async () => {
    let failures = 0;
    const fails = (_model: string, body: string) =>
      body.includes('"prompt":"c"') && failures++ < 1 ? { code: "INTERNAL", retryable: true } : null;
    const { paidService, run } = await openFakeShow({ fails });
    const result = await run(chain);
    expect(result.status).toBe("succeeded");
    expect(paidService.jobs.size).toBe(4);
    const attempts = stepOf(result, "c").attempts;
    expect(attempts.map(({ n, status, cost }) => [n, status, cost])).toEqual([
      [1, "failed", "0.00"],
      [2, "completed", "0.10"],
    ]);
    expect(new Set([...paidService.jobs.values()].map(({ key }) => key)).size).toBe(4);
  });
});

describe("a refused submit", () => {
  test("of the first send is final, and costs nothing", async () => {
    const refuses = (_model: string, sent: unknown) =>
      (sent as { prompt: string }).prompt === "c" ? apiError(422, "MODERATION_FAILED") : null;
    const { run } = await openFakeShow({ refuses });
    const result = await run(chain);
    expect(result.status).toBe("partial");
    const c = stepOf(result, "c");
    expect(c).toMatchObject({ status: "failed", attempts: [{ n: 1, job_id: null, status: "refused", cost: null }] });
    expect(c.reason).toContain("refused on paper");
  });

  test("is written down without the presigned URL that it quotes", async () => {
    const message =
      "could not fetch https://me:word@s3.test/files/abc?X-Amz-Signature=SECRET#part, nor /files/b?sig=SECRET";
    const refuses = () => apiError(400, "INVALID_ARGUMENT", { message });
    const { journal, run } = await openFakeShow({ refuses });
    const result = await run(chain);
    expect(result.report.steps[0]?.reason).toContain("could not fetch https://s3.test/files/abc, nor /files/b");
    expect(JSON.stringify(await journal.read("x"))).not.toMatch(/SECRET|me:word/);
  });

  test("and a failed job or output too are told without what makes a URL secret", async () => {
    const message = "could not read https://s3.test/files/abc?X-Amz-Signature=SECRET";
    const none = { retryAfterMs: null, param: null, details: null, replacedBy: null, billing: null };
    const error = { code: "INTERNAL", message, retryable: false, ...none };
    const { journal, run } = await openFakeShow({
      client: (client) => ({
        async *follow(jobId, options) {
          for await (const update of client.follow(jobId, options)) {
            if (update.type !== "finished") yield update;
            else if (jobId === "job_1") yield { ...update, outcome: "failed", job: { ...update.job, error } };
            else {
              const outputs = update.job.outputs.map((output) => ({ ...output, status: "FAILED" as const, error }));
              yield { ...update, job: { ...update.job, outputs } };
            }
          }
        },
      }),
    });
    const reasons = (await run(pictures, { count: 2 })).report.steps.map(({ reason }) => reason);
    expect(reasons).toEqual(Array(2).fill(expect.stringContaining("could not read https://s3.test/files/abc")));
    expect(JSON.stringify(await journal.read("x"))).not.toContain("SECRET");
  });

  test("for the key itself pauses the run, which the right key goes on with", async () => {
    let closed = true;
    const refuses = () => (closed ? apiError(401, "UNAUTHORIZED") : null);
    const { paidService, resume, run } = await openFakeShow({ refuses });
    expect(await run(chain)).toMatchObject({ status: "paused", pause: { reason: "credentials" } });
    closed = false;
    const result = await resume();
    expect(result.status).toBe("succeeded");
    expect(paidService.jobs.size).toBe(3);
  });
});

describe("a run", () => {
  test("that is stopped submits nothing more, says what still runs, and resumes to the end [G38]", async () => {
    const world = await openFakeShow({
      sleep: () => new Promise((resolve) => void world.clock.setTimer(60_000, resolve)),
    });
    const { show, clock, paidService } = world;
    const run = await during(clock, show.run(pictures, { count: 5 }, { id: "x", concurrency: 2 }));
    for await (const update of run.events()) if (!("type" in update) && update.event.type === "job.started") break;
    await run.stop();
    const stopped = await run.result();
    expect(stopped.status).toBe("paused");
    expect(stopped.pause?.reason).toBe("stopped");
    expect(stopped.openJobs.map(({ step }) => step)).toEqual(["p0", "p1"]);
    expect(paidService.jobs.size).toBe(2);
    const done = await world.resume();
    expect(done.status).toBe("succeeded");
    expect(paidService.jobs.size).toBe(5);
  });

  test("has no forecast until each model ran once, then goes by how long they took", async () => {
    const world = await openFakeShow({
      sleep: () => new Promise((resolve) => void world.clock.setTimer(20_000, resolve)),
    });
    const { show, clock } = world;
    expect((await during(clock, show.quote(chain, {}))).forecastMs).toBeNull();
    await world.run(chain);
    const { forecastMs, criticalPath } = await during(clock, show.quote(chain, {}));
    expect(criticalPath).toEqual(["a", "b"]);
    expect(forecastMs).toBeGreaterThanOrEqual(40_000);
    expect(forecastMs).toBeLessThan(60_000);
  });

  test("of a plan with problems is refused whole, and nothing is written down", async () => {
    const { show } = await openFakeShow();
    const bad = pipelineOf("bad", ({ job }) => ({ x: job("x", "image-1", { propmt: 1 }) }));
    const error = (await show.run(bad, {}).catch((e) => e)) as PlanProblemsError;
    expect(error.problems.map(({ field }) => field).sort()).toEqual(["input.prompt", "input.propmt"]);
    expect(await show.runs()).toEqual([]);
  });
});

test("any prefix of a run's journal folds to a state of the charts [G49]", async () => {
  const { journal, run } = await openFakeShow({ balanceMicros: 250_000 });
  await run(chain, {}, { startAnyway: true });
  const events = await journal.read("x");
  expect(events.length).toBeGreaterThan(10);
  for (let length = 1; length <= events.length; length++) {
    const state = fold(events.slice(0, length))!;
    expect(state.seq).toBe(length);
    expect(state.heldMicros).toBeGreaterThanOrEqual(0);
  }
});
