import { expect, test } from "vitest";
import { during, openFakeShow, pictures, unanswered } from "../../support/engine.ts";

const BUDGET = 600_000;

interface Prices {
  readonly quotes: () => number;
  readonly charges?: (nth: number) => number;
  readonly answers?: () => boolean;
}

/** A service that quotes one thing and charges another for its nth job. */
async function world({ quotes, charges = quotes, answers = () => true }: Prices) {
  let asked: (() => number) | null = null;
  const world = await openFakeShow({
    priceMicros: () => (asked ?? quotes)(),
    client: ({ submit }) => ({
      submit: async (request, options) => {
        if (!answers()) throw unanswered(request.model, request.idempotencyKey);
        asked = () => charges(world.paidService.jobs.size + 1);
        return submit(request, options).finally(() => {
          asked = null;
        });
      },
    }),
  });
  return world;
}

test.each([8, 20])(
  "prices that rose tenfold while nobody drove the run are asked for again, at %i at a time",
  async (concurrency) => {
    let price = 20_000;
    const { clock, paidService, run, resume } = await world({ quotes: () => price });
    await run(pictures, { count: 30 }, { budget: "0.60", concurrency, signal: AbortSignal.abort() });
    expect(paidService.jobs.size).toBe(0);
    price = 200_000;
    await clock.advance(6 * 60_000);
    const result = await resume();
    expect([result.pause?.reason, paidService.chargedMicros]).toEqual(["budget", BUDGET]);
  },
);

test("what was sent before prices rose tenfold says nothing of the new quotes: the budget that they come to is enough [G22]", async () => {
  let [price, isLost] = [20_000, true];
  const { show, clock, paidService, resume } = await world({ quotes: () => price, answers: () => !isLost });
  const run = await during(clock, show.run(pictures, { count: 30 }, { id: "x", budget: "6.00", concurrency: 20 }));
  clock.setTimer(10_000, () => void run.stop());
  expect((await during(clock, run.result())).pause?.reason).toBe("stopped");
  [price, isLost] = [200_000, false];
  await clock.advance(6 * 60_000);
  const result = await resume();
  expect([result.pause?.message ?? result.status, paidService.chargedMicros]).toEqual(["succeeded", 6_000_000]);
});

test.each([
  [0, "succeeded", 200],
  [20_000, "paused", 30],
])(
  "quotes of nothing are believed once a bill agrees: where jobs cost %i, the run %s after %i",
  async (costMicros, status, count) => {
    const { paidService, run } = await world({ quotes: () => 0, charges: () => costMicros });
    const options = { budget: "0.60", maxUnquoted: "0.10", concurrency: 200 };
    const result = await run(pictures, { count: 200 }, options);
    expect([result.status, paidService.jobs.size]).toEqual([status, count]);
  },
);

test("a model that charges above its quotes is bought one at a time: at most one job beyond the budget", async () => {
  const charges = (nth: number) => (nth <= 8 ? 30_000 : 30_000 * nth);
  const { paidService, journal, run } = await world({ quotes: () => 20_000, charges });
  await run(pictures, { count: 30 }, { budget: "0.60", concurrency: 8 });
  const last = Math.max(...[...paidService.jobs.values()].map(({ costMicros }) => costMicros));
  expect(paidService.chargedMicros).toBeLessThanOrEqual(BUDGET + last);
  let open = 0;
  let isKnown = false;
  for (const { event } of await journal.read("x")) {
    if (event.type === "job.settled") [open, isKnown] = [open - 1, true];
    if (event.type !== "job.submit.intended") continue;
    if (isKnown) expect(open).toBe(0);
    open++;
  }
});
