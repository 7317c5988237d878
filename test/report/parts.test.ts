import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Plan, PlanStep } from "../../src/index.ts";
import { axisOf } from "../../src/report/axis.ts";
import { condense, depthsOf, withExpansions } from "../../src/report/groups.ts";
import { escapeText, html } from "../../src/report/page/html.ts";
import { type Bar, packedRows } from "../../src/report/page/timeline.ts";
import { jobStep } from "./support/sample-run.ts";

const stretches = fc.array(
  fc.tuple(fc.nat(5_000_000), fc.nat(200_000)).map(([from, ms]) => ({ from, to: from + ms })),
  { maxLength: 30 },
);

describe("the axis of time", () => {
  test("keeps the order of instants and stays within the picture", () => {
    fc.assert(
      fc.property(stretches, (given) => {
        const axis = axisOf(given);
        const instants = given.flatMap(({ from, to }) => [from, to]).sort((a, b) => a - b);
        const places = instants.map((at) => axis.position(at));
        expect(places).toEqual(places.toSorted((a, b) => a - b));
        for (const x of [...places, ...axis.ticks.map((tick) => tick.x)]) {
          expect(x).toBeGreaterThanOrEqual(0);
          expect(x).toBeLessThanOrEqual(100.001);
        }
      }),
    );
  });

  test("cuts out only time in which nothing was done", () => {
    fc.assert(
      fc.property(stretches, (given) => {
        const axis = axisOf(given);
        for (const { from, to } of given) {
          const [left, right] = [axis.position(from), axis.position(to)];
          for (const { x, width } of axis.cuts) expect(right <= x + 1e-6 || left >= x + width - 1e-6).toBe(true);
        }
      }),
    );
  });

  test("a night between two minutes of work takes a small part of it", () => {
    const axis = axisOf([
      { from: 0, to: 60_000 },
      { from: 30_000_000, to: 30_060_000 },
    ]);
    expect(axis.cuts).toEqual([{ x: 48.5, width: 3, label: "8 h 19 min" }]);
    expect(axis.ticks.map(({ label }) => label)).toEqual(["0:00", "0:30", "1:00", "8:20:30"]);
  });
});

describe("rows of many steps", () => {
  const bars = fc.array(
    fc
      .tuple(fc.nat(60), fc.nat(10_000), fc.nat(500))
      .map(([n, from, ms]): Bar => ({ step: `shot-${n}`, attempt: 1, from, to: from + ms, spans: [] })),
    { maxLength: 80 },
  );

  test("hold every bar once, and none overlap", () => {
    fc.assert(
      fc.property(bars, (given) => {
        const rows = packedRows(given);
        expect(rows.flatMap((row) => row.bars)).toHaveLength(given.length);
        for (const row of rows) {
          for (const [at, bar] of row.bars.slice(1).entries()) expect(row.bars[at]!.to).toBeLessThanOrEqual(bar.from);
        }
      }),
    );
  });
});

describe("a plan of many steps", () => {
  /** Steps of three names, each needing some of those before it. */
  const plans = fc
    .array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.array(fc.nat(40), { maxLength: 3 })), { maxLength: 40 })
    .map((given): Plan => {
      const steps: PlanStep[] = [];
      for (const [at, [name, needs]] of given.entries()) {
        const before = needs.filter((need) => need < at).map((need) => steps[need]!.path);
        steps.push(jobStep(`${name}-${at}`, [...new Set(before)]));
      }
      return { version: 1, pipeline: "p", steps, returns: {} } as unknown as Plan;
    });

  test("is drawn with every step in one group, and no group needs a later one", () => {
    fc.assert(
      fc.property(plans, (plan) => {
        const { plan: small, members } = condense(plan);
        expect([...members.values()].flat().sort()).toEqual(plan.steps.map(({ path }) => path).sort());
        const seen = new Set<string>();
        for (const { path, needs } of small.steps) {
          for (const need of needs) expect(seen.has(need)).toBe(true);
          seen.add(path);
        }
        expect(depthsOf(small).size).toBe(small.steps.length);
      }),
    );
  });
});

describe("a plan with an expansion", () => {
  const plan = {
    version: 1,
    pipeline: "p",
    steps: [
      jobStep("board"),
      { ...jobStep("scenes", ["board"]), kind: "expand", on: { $ref: { step: "board", as: "value", output: 0 } } },
      jobStep("film", ["scenes"]),
      jobStep("scenes/picture"),
      jobStep("scenes/clip", ["scenes/picture"]),
    ],
    returns: {},
  } as unknown as Plan;

  test("is drawn with what its value led to between it and what uses it", () => {
    const drawn = withExpansions(plan).steps.map(({ path, needs }) => `${path} < ${needs.join(", ")}`);
    expect(drawn).toEqual([
      "board < ",
      "scenes < board",
      "scenes/picture < scenes",
      "scenes/clip < scenes/picture",
      "film < scenes, scenes/clip",
    ]);
  });
});

describe("markup", () => {
  test("whatever a value holds, it adds no tag, no attribute and no control character", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const escaped = escapeText(text);
        expect(escaped).not.toMatch(/[<>"']/);
        expect(escaped).not.toMatch(/(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
        expect(escaped.replace(/&(amp|lt|gt|quot|#39);/g, "")).not.toContain("&");
      }),
    );
  });

  test("our own markup is passed, texts within it are escaped", () => {
    expect(html`<p>${["a<b", html`<br>`, null, false, 0]}</p>`.text).toBe("<p>a&lt;b<br>0</p>");
  });
});
