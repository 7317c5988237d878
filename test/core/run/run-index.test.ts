import fc from "fast-check";
import { expect, test } from "vitest";
import { traitsOf } from "../../../src/core/plan/index.ts";
import { referenced } from "../../../src/core/run/resolve.ts";
import { RunIndex } from "../../../src/core/run/run-index.ts";
import { FakeRun } from "./support/fake-run.ts";
import { cycling, randomWorld } from "./support/random-world.ts";
import { runs } from "./support/runs.ts";

test("the readers of a step are among those that the index names, also behind choices, approvals and expansions", () => {
  let [direct, through] = [0, 0];
  fc.assert(
    fc.property(randomWorld, ({ world, order }) => {
      const run = new FakeRun(world);
      run.run(cycling(order));
      const { state } = run;
      const index = new RunIndex(state, () => {});
      for (const reader of state.planned.plan.steps) {
        for (const ref of traitsOf(reader).uses) {
          for (const { step } of referenced(state, ref)) {
            expect(index.readersOf(step)).toContain(reader);
            if (step === ref.step) direct += 1;
            else through += 1;
          }
        }
      }
    }),
    runs(60),
  );
  expect(Math.min(direct, through)).toBeGreaterThan(0);
});
