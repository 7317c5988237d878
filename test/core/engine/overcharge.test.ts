import { describe, expect, test } from "vitest";
import type { RunOptions } from "../../../src/index.ts";
import { during, type FakeShow, openFakeShow, pictures } from "../../support/engine.ts";

const quoteMicros = 20_000;
const budget = "0.30";

/** A service that quotes two cents and charges by a factor; jobs take as long as said. */
async function charging(
  factor: number,
  more: Pick<NonNullable<Parameters<typeof openFakeShow>[0]>, "journal" | "open"> = {},
): Promise<FakeShow> {
  let askedMicros = quoteMicros;
  const world: FakeShow = await openFakeShow({
    ...more,
    jobIds: more.journal === undefined ? "job_" : "job_later_",
    priceMicros: () => askedMicros,
    takesMs: () => 1000 + ((world.paidService.submits * 37) % 400),
    client: ({ submit }) => ({
      submit: (...request) => {
        askedMicros = Math.round(quoteMicros * factor);
        return submit(...request).finally(() => {
          askedMicros = quoteMicros;
        });
      },
    }),
  });
  return world;
}

/** Runs 15 pictures, which the budget pays for by their quotes. */
const run = (world: FakeShow, options: RunOptions = {}, count = 15) => world.run(pictures, { count }, options);

describe("Charges above the quote", () => {
  test.each([1, 8, 30])(
    "of twice as much pass the budget by one round of concurrency at most, at %i at a time [G22]",
    async (concurrency) => {
      const world = await charging(2);
      const result = await run(world, { budget, concurrency });
      const round = Math.min(concurrency, 15) * quoteMicros;
      expect(result.cost.micros).toBeLessThanOrEqual(300_000 + round);
      // What was begun before the first bill, and what fits beside it at its real price: never more.
      expect(world.paidService.jobs.size).toBeLessThanOrEqual(Math.max(7, concurrency));
      expect(world.paidService.chargedMicros).toBe(result.cost.micros);
      if (concurrency < 15) {
        expect(result.pause).toMatchObject({ reason: "budget", message: expect.stringContaining("quoted 0.02") });
      } else expect(result.status).toBe("succeeded");
      expect(result.report.overcharges).toMatchObject([
        { times: world.paidService.jobs.size, worst: { quoted: "0.02", charged: "0.04" } },
      ]);
      const over = result.cost.micros - 300_000;
      expect(result.report.over_budget).toBe(over > 0 ? (over / 1e6).toFixed(2) : null);
      expect((await world.journal.ledger("x")).settledMicros).toBe(result.cost.micros);
    },
  );

  test("raise what is reserved for jobs on the service before anything else is begun", async () => {
    const world = await charging(2);
    await run(world, { budget, concurrency: 8 });
    const events = (await world.journal.read("x")).map(({ event }) => event);
    const settled = events.findIndex(({ type }) => type === "job.settled");
    const begun = events.slice(0, settled).filter(({ type }) => type === "job.submit.intended").length;
    const raised = events.filter(({ type }) => type === "job.hold.raised");
    expect([begun, raised.length]).toEqual([8, 7]);
    const next = events.findIndex(({ type }, at) => at > settled && type === "job.submit.intended");
    expect(next).toBe(-1);
  });

  test("are learnt from by a resume of the run [G22]", async () => {
    const world = await charging(2);
    expect((await run(world, { budget, concurrency: 1 })).cost.usd).toBe("0.28");
    // Another process, another budget: no job is held at less than it costs.
    const next = await charging(2, { journal: world.journal });
    const resumed = await next.resume({ budget: "0.40" });
    expect([resumed.pause?.reason, resumed.cost.usd]).toEqual(["budget", "0.40"]);
  });

  test("count towards the cap over all runs as soon as they are known [G22]", async () => {
    const world = await charging(2, { open: { spendingCap: "0.30" } });
    const result = await run(world, { concurrency: 4 });
    expect(result.pause?.reason).toBe("budget");
    expect(result.cost.micros).toBeLessThanOrEqual(300_000 + 4 * quoteMicros);
    expect((await world.journal.ledger("x")).heldMicros).toBe(0);
  });

  test("are listed by reconcile, job by job", async () => {
    const world = await charging(2);
    await run(world, { concurrency: 1 }, 2);
    const { overcharges } = await during(world.clock, world.show.reconcile("x"));
    expect(overcharges).toMatchObject([
      { step: "p0", expectedMicros: 20_000, chargedMicros: 40_000 },
      { step: "p1", expectedMicros: 20_000, chargedMicros: 40_000 },
    ]);
  });

  test("and charges as quoted change nothing", async () => {
    const world = await charging(1);
    const result = await run(world, { budget, concurrency: 8 });
    expect([result.status, result.cost.usd, result.report.over_budget]).toEqual(["succeeded", "0.30", null]);
    expect(result.report.overcharges).toEqual([]);
  });
});
