import fc from "fast-check";
import { expect, test } from "vitest";
import { waitersFor } from "../../../src/core/plan/make-plan.ts";
import { dependentsOf } from "../../../src/core/plan/slots.ts";
import { job, planOf } from "../run/support/plans.ts";

const anyPlan = fc.array(fc.array(fc.nat(), { maxLength: 3 }), { minLength: 1, maxLength: 30 }).map((needs) =>
  planOf(
    needs.map((before, at) => {
      const after = at === 0 ? [] : [...new Set(before.map((one) => `s${one % at}`))];
      return job(`s${at}`, {}, { after });
    }),
  ),
);

test("a step waits for another where it is among those that need it, and those that need these", () => {
  fc.assert(
    fc.property(anyPlan, fc.nat(), (plan, at) => {
      const { path } = plan.steps[at % plan.steps.length]!;
      const waiting = new Set([path]);
      const dependents = dependentsOf(plan);
      for (const one of waiting) for (const user of dependents.get(one) ?? []) waiting.add(user.path);
      const waits = waitersFor(path, plan);
      // Answers to earlier questions are used for later ones, so they are asked in either order.
      const asked = at % 2 === 0 ? plan.steps : plan.steps.toReversed();
      for (const step of asked) expect(waits(step.path)).toBe(waiting.has(step.path));
      expect(waits("nobody")).toBe(false);
    }),
  );
});
