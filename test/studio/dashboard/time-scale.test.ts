import fc from "fast-check";
import { expect, test } from "vitest";
import type { TimelineSpan } from "../../../src/core/view/index.ts";
import { timeScale } from "../../../src/studio/dashboard/page/run/time-scale.ts";

const span = (phase: TimelineSpan["phase"], from: number, to: number | null) => {
  return { step: "a", attempt: 1, phase, from, to };
};

test("a wait of hours for a person takes little of the picture; what ran keeps its proportions", () => {
  const hour = 3_600_000;
  const spans = [
    span("render", 0, 10_000),
    span("approval", 10_000, 2 * hour),
    span("render", 2 * hour, 2 * hour + 10_000),
  ];
  const scale = timeScale(spans, 0, 2 * hour + 10_000, 0);
  expect(scale.folds).toEqual([{ from: 10_000, to: 2 * hour }]);
  expect(scale.shownMs).toBe(20_000);
  expect(scale.position(10_000)).toBeCloseTo(0.485);
  expect(scale.position(2 * hour)).toBeCloseTo(0.515);
  expect(scale.instant(15_000)).toBe(2 * hour + 5_000);
});

test("nothing is folded while something runs, nor for a moment", () => {
  const spans = [span("render", 0, 100_000), span("approval", 20_000, 90_000), span("task", 105_000, 200_000)];
  expect(timeScale(spans, 0, 200_000, 0).folds).toEqual([]);
});

test("whatever the spans, instants keep their order and both ends stay at the ends", () => {
  const spans = fc.array(
    fc.record({
      phase: fc.constantFrom<TimelineSpan["phase"][]>("render", "approval", "queue"),
      from: fc.nat(1e7),
      length: fc.option(fc.nat(1e6)),
    }),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(spans, fc.array(fc.nat(1e7), { maxLength: 20 }), (drawn, instants) => {
      const end = 1.2e7;
      const all = drawn.map(({ phase, from, length }) => span(phase, from, length === null ? null : from + length));
      const scale = timeScale(all, 0, end, end);
      const positions = [...instants].sort((a, b) => a - b).map((at) => scale.position(at));
      for (const [index, position] of positions.entries()) {
        expect(position).toBeGreaterThanOrEqual(index === 0 ? 0 : positions[index - 1]! - 1e-9);
        expect(position).toBeLessThanOrEqual(1 + 1e-9);
      }
      expect(scale.position(0)).toBeCloseTo(0);
      expect(scale.position(end)).toBeCloseTo(1);
    }),
  );
});
