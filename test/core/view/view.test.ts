import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { RunView } from "../../../src/core/view/run-view.ts";
import { FakeRun } from "../run/support/fake-run.ts";
import { job, planOf, ref } from "../run/support/plans.ts";
import { cycling, randomWorld } from "../run/support/random-world.ts";
import { runs } from "../run/support/runs.ts";
import { expectPatchedView } from "./support/patched-view.ts";

// A full check takes many more runs.
vi.setConfig({ testTimeout: 600_000 });

describe("the view of a run", () => {
  test("patched by each event it is what all events at once make it, whatever happens", () => {
    fc.assert(
      fc.property(randomWorld, ({ world, order }) => {
        const run = new FakeRun(world);
        run.run(cycling(order));
        expectPatchedView(run.events);
      }),
      runs(60),
    );
  });

  test("an event about one step makes the view of that step anew, and of no other", () => {
    const run = new FakeRun({ plan: planOf([job("a"), job("b"), job("c", { image: ref("a") })]) });
    run.run();
    const view = RunView.of(run.events.slice(0, 1))!;
    for (const stored of run.events.slice(1)) {
      const before = new Map(view.steps.map((step) => [step.path, step]));
      view.add(stored);
      const own = "step" in stored.event ? stored.event.step : null;
      const anew = view.steps.filter((step) => step !== before.get(step.path)).map(({ path }) => path);
      expect(anew).toEqual(own === null ? [] : [own]);
    }
    expect(view.steps.map(({ phase }) => phase)).toEqual(["succeeded", "succeeded", "succeeded"]);
  });

  test("the money of its steps adds up to that of the run", () => {
    fc.assert(
      fc.property(randomWorld, ({ world, order }) => {
        const run = new FakeRun(world);
        run.run(cycling(order));
        const view = RunView.of(run.events)!;
        const all = [...view.steps, ...view.removed];
        expect(all.reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0)).toBe(view.state.spentMicros);
        expect(all.reduce((sum, { heldMicros }) => sum + heldMicros, 0)).toBe(view.state.heldMicros);
      }),
      runs(60),
    );
  });
});
