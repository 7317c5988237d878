import fc from "fast-check";
import { expect, test } from "vitest";
import { type ScoredPart, scoreModels } from "../../../src/core/run/view/model-scores.ts";

const part: fc.Arbitrary<ScoredPart> = fc.record({
  models: fc.constantFrom(["image-0"], ["image-1"], ["chat-1", "image-1"]),
  costMicros: fc.option(fc.nat(1_000_000)),
  tookMs: fc.option(fc.nat(90_000)),
  outcome: fc.constantFrom("chosen", "made", "nothing"),
});

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

test("no part is lost or counted twice, and what was chosen most comes first", () => {
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const scores = scoreModels(parts);
      const ofOutcome = (wanted: string) => parts.filter(({ outcome }) => outcome === wanted).length;
      expect(sum(scores.map(({ compared }) => compared))).toBe(parts.length);
      expect(sum(scores.map(({ chosen }) => chosen))).toBe(ofOutcome("chosen"));
      expect(sum(scores.map(({ madeNothing }) => madeNothing))).toBe(ofOutcome("nothing"));
      expect(sum(scores.map(({ costMicros }) => costMicros))).toBe(sum(parts.map(({ costMicros }) => costMicros ?? 0)));
      for (const [at, { compared, chosen, madeNothing, costMicros, meanCostMicros }] of scores.entries()) {
        expect(chosen + madeNothing).toBeLessThanOrEqual(compared);
        expect(chosen).toBeLessThanOrEqual(scores[at - 1]?.chosen ?? chosen);
        expect(Number.isSafeInteger(meanCostMicros ?? 0)).toBe(true);
        expect(meanCostMicros ?? 0).toBeLessThanOrEqual(costMicros);
      }
      expect(new Set(scores.map(({ models }) => models.join())).size).toBe(scores.length);
    }),
  );
});

test("means leave out what has no bill, and times of parts that made nothing", () => {
  const of = { models: ["image-1"], outcome: "made" } as const;
  const scores = scoreModels([
    { ...of, outcome: "chosen", costMicros: 20_000, tookMs: 3000 },
    { ...of, costMicros: 30_001, tookMs: 4000 },
    { ...of, costMicros: null, tookMs: null },
    { ...of, outcome: "nothing", costMicros: 0, tookMs: 1 },
    { ...of, models: ["image-0"], outcome: "nothing", costMicros: null, tookMs: 5 },
  ]);
  expect(scores).toEqual([
    {
      models: ["image-1"],
      compared: 4,
      chosen: 1,
      madeNothing: 1,
      costMicros: 50_001,
      meanCostMicros: 16_667,
      meanMs: 3500,
    },
    { models: ["image-0"], compared: 1, chosen: 0, madeNothing: 1, costMicros: 0, meanCostMicros: null, meanMs: null },
  ]);
});
