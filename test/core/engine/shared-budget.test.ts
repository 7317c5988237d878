import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { wholeCents } from "../../../src/core/kit/money.ts";
import { pipeline, quoteEach, runEach } from "../../../src/index.ts";
import { during, isFull, models, openFakeShow } from "../../support/engine.ts";

const CENT = 10_000;

const ads = pipeline("ads", {
  input: z.object({ slogan: z.string() }),
  build({ input, job }) {
    const still = job("still", models.image, { prompt: input.slogan });
    const film = job("film", models.video, {
      prompt: "it moves",
      start_image: still,
      aspect_ratio: "1:1",
      duration_ms: 3000,
    });
    return { film };
  },
});

async function world() {
  const prices = { still: 2 * CENT, film: 8 * CENT };
  const { show, clock, outDir, paidService } = await openFakeShow({
    priceMicros: (model) => (model.startsWith("image") ? prices.still : prices.film),
  });
  const start = async (rows: number, budgetMicros: number, atOnce: number, filmThen = prices.film) => {
    const list = Array.from({ length: rows }, (_, index) => ({ id: `ad-${index}`, input: { slogan: `${index}` } }));
    const quote = await during(clock, quoteEach(show, ads, list));
    if (!quote.ok) throw new Error(JSON.stringify(quote.problems));
    prices.film = filmThen;
    const how = { budget: wholeCents(budgetMicros), atOnce, outDir: join(outDir, "each") };
    const outcomes = await during(clock, runEach(show, ads, quote, how), 1_000);
    const neededMicros = outcomes.reduce((sum, { projectedMicros }) => sum + projectedMicros, 0);
    return { outcomes, neededMicros, paid: paidService.chargedMicros };
  };
  return { start };
}

function counted(outcomes: readonly { readonly status: string }[]) {
  const counts: Record<string, number> = {};
  for (const { status } of outcomes) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

test("sixteen rows under a budget for ten: ten films, six that wait, and the advised amount finishes all", async () => {
  const { start } = await world();
  const first = await start(16, 10 * 10 * CENT, 4);
  expect(counted(first.outcomes)).toEqual({ succeeded: 10, waiting: 6 });
  expect(first.neededMicros).toBe(16 * 10 * CENT);
  const second = await start(16, first.neededMicros, 4);
  expect(counted(second.outcomes)).toEqual({ succeeded: 16 });
  expect(second.paid).toBe(16 * 10 * CENT);
});

test("rows that cost more than their quotes draw on what is left; a raise continues those that paused", async () => {
  const { start } = await world();
  const first = await start(3, 31 * CENT, 3, 14 * CENT);
  expect(counted(first.outcomes)).toMatchObject({ succeeded: 1, paused: 2 });
  expect(first.paid).toBeLessThanOrEqual(31 * CENT);
  expect(first.neededMicros).toBe(3 * 16 * CENT);
  const second = await start(3, first.neededMicros, 3);
  expect(counted(second.outcomes)).toEqual({ succeeded: 3 });
});

test("any batch, whatever its films cost in the end, spends no more than its budget and is finished by what it advises", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 7 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 90 }),
      fc.integer({ min: 1, max: 30 }),
      async (rows, atOnce, budget, later) => {
        const { start } = await world();
        let { outcomes, neededMicros, paid } = await start(rows, budget * CENT, atOnce, later * CENT);
        let allowed = budget * CENT;
        for (let raises = 0; ; raises++) {
          expect(paid).toBeLessThanOrEqual(allowed);
          const open = outcomes.filter(({ status }) => status !== "succeeded");
          if (open.length === 0) return;
          expect(open.map(({ status }) => status)).toEqual(open.map(() => expect.stringMatching(/^(paused|waiting)$/)));
          expect(neededMicros).toBeGreaterThan(allowed);
          // The first told the price of what had begun; a new start asks for all of it.
          expect(raises).toBeLessThan(3);
          allowed = neededMicros;
          ({ outcomes, neededMicros, paid } = await start(rows, allowed, atOnce));
        }
      },
    ),
    { numRuns: isFull ? 100 : 5 },
  );
}, 240_000);
