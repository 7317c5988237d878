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
    expect([(await during(clock, resumed.result())).status, paidService.jobs.size]).toEqual(["succeeded", 3]);
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

  test("can be declared lost: the hold is released and the step failed", async () => {
    const { show, paidService, journal, run, resume } = await openFakeShow({ refuses: lostThenRefused() });
    await run(one);
    await show.adopt("x", "a", null);
    const done = await resume();
    expect(done.status).toBe("failed");
    expect(done.report.steps[0]!.reason).toBe("someone confirmed that nothing was generated");
    expect([paidService.jobs.size, (await journal.ledger("x")).heldMicros]).toEqual([0, 0]);
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
});

describe("a run", () => {
  test("that is stopped submits nothing more, says what still runs, and resumes to the end [G38]", async () => {
    const { show, clock, paidService, resume } = await openFakeShow({
      sleep: () => new Promise((resolve) => void clock.setTimer(60_000, resolve)),
    });
    const run = await during(clock, show.run(pictures, { count: 5 }, { id: "x", concurrency: 2 }));
    for await (const update of run.events()) if (!("type" in update) && update.event.type === "job.started") break;
    await run.stop();
    const stopped = await run.result();
    expect([stopped.status, stopped.pause?.reason]).toEqual(["paused", "stopped"]);
    expect(stopped.openJobs.map(({ step }) => step)).toEqual(["p0", "p1"]);
    expect(paidService.jobs.size).toBe(2);
    const done = await resume();
    expect([done.status, paidService.jobs.size]).toEqual(["succeeded", 5]);
  });

  test("has no forecast until each model ran once, then goes by how long they took", async () => {
    const { show, clock, run } = await openFakeShow({
      sleep: () => new Promise((resolve) => void clock.setTimer(20_000, resolve)),
    });
    expect((await during(clock, show.quote(chain, {}))).forecastMs).toBeNull();
    await run(chain);
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
