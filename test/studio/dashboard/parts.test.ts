import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseRange } from "../../../src/core/kit/http.ts";
import { BATCH_TAG, listedTags } from "../../../src/core/kit/tags.ts";
import { draw, neighbour } from "../../../src/studio/dashboard/page/graph/layout.ts";
import { usd } from "../../../src/studio/dashboard/page/ui/format.ts";
import type { PageStep } from "../../../src/studio/dashboard/views/document.ts";
import { bundlesOf } from "../../../src/studio/dashboard/views/groups.ts";
import { cut, cutJson } from "../../../src/studio/dashboard/views/page-step.ts";
import { matchPath } from "../../../src/studio/served/index.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { words } from "../../support/word-list.ts";

describe("a Range header", () => {
  const bytes = fc.tuple(fc.nat(), fc.nat()).map(([a, b]) => `bytes=${a}-${b}`);
  test("never leads outside of the file", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), bytes), fc.nat(5000), (header, size) => {
        const range = parseRange(header, size);
        if (typeof range === "string") return;
        expect(range.start).toBeGreaterThanOrEqual(0);
        expect(range.end).toBeLessThan(size);
        expect(range.start).toBeLessThanOrEqual(range.end);
      }),
    );
  });

  test.each([
    [undefined, "whole"],
    ["bytes=0-", { start: 0, end: 99 }],
    ["bytes=-10", { start: 90, end: 99 }],
    ["bytes=-1000", { start: 0, end: 99 }],
    ["bytes=5-5", { start: 5, end: 5 }],
    ["bytes=90-1000", { start: 90, end: 99 }],
    ["bytes=100-", "beyond"],
    ["bytes=-0", "beyond"],
    ["bytes=5-2", "whole"],
    ["bytes=0-1,5-6", "whole"],
    ["lines=0-1", "whole"],
  ])("%s of 100 bytes", (header, expected) => {
    expect(parseRange(header, 100)).toEqual(expected);
  });
});

test("a path matches segment by segment, and an encoded slash is part of a name", () => {
  expect(matchPath("/media/:run/:step/:index", "/media/r/a%2Fb/0")).toEqual({ run: "r", step: "a/b", index: "0" });
  expect(matchPath("/media/:run/:step/:index", "/media/r/a/b/0")).toBeNull();
  expect(matchPath("/api/runs", "/api/runs/")).toBeNull();
  expect(matchPath("/api/:run", "/api/%E0%A4%A")).toBeNull();
});

describe("long texts", () => {
  test("are cut to what was allowed, never within a character", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 30 }), fc.integer({ min: 2, max: 20 }), (text, most) => {
        const short = cut(text, most);
        expect(short.length).toBeLessThanOrEqual(most);
        expect(short.isWellFormed() || !text.isWellFormed()).toBe(true);
      }),
    );
  });

  test("of any JSON come out bounded, and say so", () => {
    const list = Array.from({ length: 10_000 }, (_, index) => index);
    const { value, isCut } = cutJson({ prompt: "x".repeat(10_000_000), list });
    expect([isCut, JSON.stringify(value).length < 20_000]).toEqual([true, true]);
    const short = { prompt: "short", n: [1, { a: null }] };
    expect(cutJson(short)).toEqual({ value: short, isCut: false });
  });
});

test.each([
  [0, "$0.00"],
  [40_000, "$0.04"],
  [1_234_500, "$1.23"],
  [12_000_000_000, "$12,000.00"],
  [null, "–"],
])("%s micro-dollars are shown as %s", (micros, shown) => {
  expect(usd(micros)).toBe(shown);
});

describe("the graph", () => {
  const step = (path: string, needs: readonly string[] = []) =>
    ({ path, needs, kind: "job", model: "m" }) as unknown as PageStep;
  const byPath = (steps: readonly PageStep[]) => new Map(steps.map((one) => [one.path, one]));
  const shots = Array.from({ length: 500 }, (_, index) => [
    step(`shot-${index}/still`),
    step(`shot-${index}/clip`, [`shot-${index}/still`]),
  ]).flat();

  test("draws a thousand alike steps as what they are: two groups, one arrow", () => {
    const bundles = bundlesOf({ steps: byPath(shots) }, true);
    expect(bundles.map(({ key, count }) => [key, count])).toEqual([
      ["shot-*/still", 500],
      ["shot-*/clip", 500],
    ]);
    expect(bundles.map(({ needs }) => needs)).toEqual([[], ["shot-*/still"]]);
  });

  test("loses no step to a group, whatever the names", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ minLength: 1 })), fc.boolean(), (paths, isGrouped) => {
        const steps = byPath(paths.map((path) => step(path)));
        const members = bundlesOf({ steps }, isGrouped).flatMap((one) => one.members);
        expect(members.map(({ path }) => path).sort()).toEqual([...paths].sort());
      }),
    );
  });

  test.each([
    ["carefully", 30],
    ["quickly", 400],
  ])("is laid out %s without two nodes on one place", (_, count) => {
    const keys = Array.from({ length: count }, (_, index) => `n${index}`);
    const links = keys.slice(1).map((key, index) => [keys[Math.floor(index / 3)]!, key] as const);
    const nodes = keys.map((key) => ({ key, width: 196, height: 162 }));
    for (const direction of ["LR", "TB"] as const) {
      const drawing = draw({ nodes, arrows: links, direction });
      const placed = [...drawing.nodes.values()];
      const overlap = placed.some((a) =>
        placed.some((b) => a !== b && Math.abs(a.x - b.x) < a.width && Math.abs(a.y - b.y) < a.height),
      );
      expect(overlap).toBe(false);
      expect(drawing.arrows).toHaveLength(links.length);
    }
  });

  test("keeps steps that are tied to the same others in the order of the plan", () => {
    const takes = ["one", "two", "three", "four"];
    const nodes = [...takes, "pick"].map((key) => ({ key, width: 196, height: 162 }));
    const drawing = draw({ nodes, arrows: takes.map((take) => [take, "pick"] as const), direction: "LR" });
    const byHeight = takes.toSorted((a, b) => drawing.nodes.get(a)!.y - drawing.nodes.get(b)!.y);
    expect(byHeight).toEqual(takes);
  });

  test("is walked with the arrow keys: along the arrows, and to the nearest beside", () => {
    const nodes = ["a", "b", "c", "d"].map((key) => ({ key, width: 100, height: 50 }));
    const arrows = words("ab ac bd cd").map(([from, to]) => [from!, to!] as const);
    const drawing = draw({ nodes, arrows, direction: "LR" });
    const ahead = neighbour(drawing, "a", "ArrowRight", "LR");
    expect(["b", "c"]).toContain(ahead);
    expect(neighbour(drawing, "d", "ArrowRight", "LR")).toBeNull();
    expect(neighbour(drawing, "b", "ArrowLeft", "LR")).toBe("a");
    const beside = neighbour(drawing, "b", "ArrowDown", "LR") ?? neighbour(drawing, "b", "ArrowUp", "LR");
    expect(beside).toBe("c");
  });
});

test("an entry of a list leaves out which rows were started together", () => {
  expect(listedTags(["client=acme", `${BATCH_TAG}=ads-1`])).toEqual(["client=acme"]);
});
