import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planSvg } from "../../../src/studio/dashboard/index.ts";
import { job, planOf, ref } from "../../core/run/support/plans.ts";
import { chat, gate, task } from "../../core/run/support/steps.ts";

/** Any plan: each step needs some of those before it. */
const anyPlan = fc.array(fc.array(fc.nat(), { maxLength: 3 }), { minLength: 1, maxLength: 25 }).map((uses) =>
  planOf(
    uses.map((before, index) => {
      const needs = index === 0 ? [] : [...new Set(before.map((one) => `s${one % index}`))];
      return job(`s${index}`, Object.fromEntries(needs.map((need) => [need, ref(need)])));
    }),
  ),
);
const few = { numRuns: 40 };

describe("a plan drawn as SVG", () => {
  test("tells kinds and the longest chain apart, and cuts long names", () => {
    const long = "a name of more than twenty-four characters";
    const plan = planOf([job("a & b"), job(long), job("c", { i: ref("a & b"), j: ref(long) })]);
    const svg = planSvg(plan, { highlighted: ["a & b", "c"], note: ({ path }) => (path === "c" ? '"1" < 2' : "n") });
    expect(svg).toContain("<title>by-hand: 3 steps</title>");
    expect(svg.match(/class="edge critical"/g)).toHaveLength(1);
    expect(svg.match(/class="step job image critical"/g)).toHaveLength(2);
    expect(svg).toContain('<text class="name" x="10" y="19">a name of more than twe…</text>');
    expect(svg).toContain("<title>c: &#34;1&#34; &#60; 2</title>");
    const kinds = planSvg(planOf([chat("talk"), gate("ok", [ref("talk")]), task("cut")]));
    for (const kind of ["chat", "approve", "task"]) expect(kinds).toContain(`<g class="step ${kind} `);
    expect(planSvg(planOf([]))).toContain("<title>by-hand: 0 steps</title>");
  });

  test("as SVG have every step and edge, and keep names from becoming markup", () => {
    fc.assert(
      fc.property(anyPlan, fc.string(), (any, note) => {
        const svg = planSvg(any, { note: () => `${note}<script>\u0007` });
        expect(svg.match(/<g class="step /g)).toHaveLength(any.steps.length);
        const edges = any.steps.reduce((sum, { needs }) => sum + needs.length, 0);
        expect(svg.match(/<path class="edge/g)?.length ?? 0).toBe(edges);
        expect(svg).not.toContain("<script");
        expect(svg).not.toMatch(/="[^"]*(?:NaN|undefined)/);
        expect(svg).not.toContain("\u0007");
      }),
      few,
    );
  });

  test("as SVG put every step right of all it needs, no two in one cell", () => {
    fc.assert(
      fc.property(anyPlan, (any) => {
        const places = [...planSvg(any).matchAll(/translate\(([\d.]+) ([\d.]+)\)/g)].map(
          ([, x, y]) => [Number(x), y] as const,
        );
        expect(new Set(places.map(String)).size).toBe(any.steps.length);
        const x = new Map(any.steps.map(({ path }, index) => [path, places[index]![0]]));
        for (const { path, needs } of any.steps)
          for (const one of needs) expect(x.get(one)!).toBeLessThan(x.get(path)!);
      }),
      few,
    );
  });
});
