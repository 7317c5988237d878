import fc from "fast-check";
import { expect, test } from "vitest";
import { criticalPath } from "../../../src/core/plan/index.ts";
import type { Plan } from "../../../src/core/plan/plan.ts";
import { chainLengths } from "../../../src/core/plan/slots.ts";
import { job } from "../run/support/plans.ts";

const anyCase = fc
  .array(fc.tuple(fc.array(fc.nat(), { maxLength: 3 }), fc.nat(9)), { minLength: 1, maxLength: 40 })
  .map((steps) => {
    const plan: Plan = {
      version: 1,
      pipeline: "p",
      returns: {},
      steps: steps.map(([before], index) => {
        const needs = index === 0 ? [] : [...new Set(before.map((one) => `s${one % index}`))].sort();
        return { ...job(`s${index}`), needs };
      }),
    };
    return { plan, durationMs: ({ path }: { readonly path: string }) => steps[Number(path.slice(1))]![1] };
  });

test("the chain from a step is its own duration and the longest chain of what needs it", () => {
  fc.assert(
    fc.property(anyCase, ({ plan, durationMs }) => {
      const lengths = chainLengths(plan, durationMs);
      for (const step of plan.steps) {
        const users = plan.steps.filter(({ needs }) => needs.includes(step.path));
        const after = Math.max(0, ...users.map(({ path }) => lengths.get(path)!));
        expect(lengths.get(step.path)).toBe(durationMs(step) + after);
      }
    }),
  );
});

test("the critical path is a chain of steps that is as long as the longest", () => {
  fc.assert(
    fc.property(anyCase, ({ plan, durationMs }) => {
      const { path, lengthMs } = criticalPath(plan, durationMs);
      expect(lengthMs).toBe(Math.max(...chainLengths(plan, durationMs).values()));
      expect(path.reduce((sum, one) => sum + durationMs({ path: one }), 0)).toBe(lengthMs);
      const needsOf = new Map(plan.steps.map((step) => [step.path, step.needs]));
      for (const [at, one] of path.slice(1).entries()) expect(needsOf.get(one)).toContain(path[at]);
    }),
  );
});
