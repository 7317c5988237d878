import { describe, expect, test } from "vitest";
import { formatBar, formatNumber, growthExponent, median, meets, ratios } from "./stats.ts";

describe("median", () => {
  test("is the middle one, whatever the order", () => {
    expect(median([9, 1, 5])).toBe(5);
  });

  test("of an even number is the mean of the two in the middle", () => {
    expect(median([4, 1, 100, 2])).toBe(3);
  });

  test("compares numbers as numbers", () => {
    expect(median([10, 9, 100])).toBe(10);
  });

  test("of nothing does not exist", () => {
    expect(() => median([])).toThrow("no samples");
  });
});

describe("growth exponent", () => {
  const grown = (value: (size: number) => number) =>
    [1_000, 10_000, 100_000].map((size) => ({ size, value: value(size) }));

  test("is 1 where twice the size costs twice as much, 2 with the square, 0 where size costs nothing", () => {
    expect(growthExponent(grown((size) => 3 * size))).toBeCloseTo(1);
    expect(growthExponent(grown((size) => size ** 2 / 7))).toBeCloseTo(2);
    expect(growthExponent(grown(() => 42))).toBeCloseTo(0);
  });

  test("is that of the line nearest to all points", () => {
    const points = [
      { size: 1, value: 1 },
      { size: Math.E, value: Math.E ** 2 },
      { size: Math.E ** 2, value: Math.E },
    ];
    expect(growthExponent(points)).toBeCloseTo(0.5);
  });

  test("needs two sizes", () => {
    expect(() => growthExponent([{ size: 1, value: 1 }])).toThrow("two sizes");
  });
});

describe("bars", () => {
  test("hold at their very value, and on both sides", () => {
    expect(meets(2, { least: 2 })).toBe(true);
    expect(meets(1.99, { least: 2 })).toBe(false);
    expect(meets(3, { most: 3 })).toBe(true);
    expect(meets(3.01, { least: 1, most: 3 })).toBe(false);
  });

  test("are said in words of their own", () => {
    expect(formatBar({ least: 2 })).toBe("≥ 2");
    expect(formatBar({ most: 1_000 })).toBe("≤ 1,000");
  });
});

test("ratios are taken round by round", () => {
  expect(ratios([10, 30], [5, 10])).toEqual([2, 3]);
});

test("numbers have three digits that count", () => {
  expect([1234.5, 12.345, 0.12345, 0, 98_765.4].map(formatNumber)).toEqual(["1,230", "12.3", "0.123", "0", "98,800"]);
});
