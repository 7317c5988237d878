import { expect, test } from "vitest";
import type { StepPrice } from "../../../src/core/engine/price/totals.ts";
import { dollars, priceText } from "../../../src/core/kit/money.ts";

const price = (step: string, costMicros: number | null, mostMicros: number | null): StepPrice => {
  return { step, model: "m", costMicros, mostMicros, basis: "quoted", maxCostMicros: null, reason: null };
};

test("a range says which steps make its upper end, the dearest first", () => {
  const prices = [
    price("look", 60_000, 60_000),
    price("short", 100_000, 400_000),
    price("avatar", 500_000, 18_730_000),
  ];
  expect(priceText({ min: 661_080, max: 19_391_080 }, prices, dollars)).toBe(
    "$0.66 to $19.39 (avatar up to $18.73, short up to $0.40)",
  );
});

test("a range within the same cent is one amount", () => {
  expect(priceText({ min: 301_000, max: 301_400 }, [price("a", 301_000, 301_400)], dollars)).toBe("$0.30");
});
