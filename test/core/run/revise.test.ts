import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fold, type StoredEvent } from "../../../src/core/journal/events.ts";
import { loadRun, snapshotOf } from "../../../src/core/journal/run-repository.ts";
import { isRunFinal, isStepFinal, type RunState } from "../../../src/core/journal/state.ts";
import type { FoldSnapshot, JournalStore } from "../../../src/core/journal/store.ts";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import { diffPlans, fingerprint } from "../../../src/core/plan/index.ts";
import type { Plan, PlanStep } from "../../../src/core/plan/plan.ts";
import { cancelledSteps, hasNoOpenJobs, revisionEvents, staleSteps } from "../../../src/core/run/rerun.ts";
import { expectPatchedView } from "../view/support/patched-view.ts";
import { expectCharted } from "./support/charted.ts";
import { FakeRun, type World } from "./support/fake-run.ts";
import { cycling, randomWorld } from "./support/random-world.ts";
import { runs } from "./support/runs.ts";

const after = fc.option(fc.nat(12));
const steps = (maxLength: number) => fc.array(fc.nat(20), { minLength: 1, maxLength });
/** What a person may do to a run, when it is over or after so many answers. */
const change = fc.oneof(
  fc.record({ after, type: fc.constant("rerun" as const), steps: steps(3) }),
  fc.record({ after, type: fc.constant("edit" as const), steps: steps(2) }),
  fc.record({ after, type: fc.constant("rename" as const), step: fc.nat(20) }),
  fc.record({ after, type: fc.constant("drop" as const), step: fc.nat(20) }),
);
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** The plan as its code would make it without expansions, with some steps asking for something else. */
function edited(plan: Plan, paths: ReadonlySet<string>): Plan {
  const steps = plan.steps.map((step): PlanStep => {
    if (!paths.has(step.path) || step.kind !== "job") return step;
    const input = { ...(step.input as object), edit: `${step.fingerprint.slice(-4)}` };
    return { ...step, input, fingerprint: fingerprint({ kind: "job", model: step.model, input }) };
  });
  return { ...plan, steps };
}

/** Nothing uses it any more, and it is gone. */
function without(plan: Plan, path: string, world: World): Plan | null {
  if (JSON.stringify(world.expansions ?? {}).includes(`"${path}"`)) return null;
  if (plan.steps.some(({ needs }) => needs.includes(path))) return null;
  if (JSON.stringify(plan.returns).includes(`"${path}"`)) return null;
  return { ...plan, steps: plan.steps.filter((step) => step.path !== path) };
}

/** Another name for a job, wherever it stands; what it asks for is the same. */
function renamed(plan: Plan, path: string): Plan {
  const users = plan.steps.filter((step) => step.path === path || step.needs.includes(path));
  if (users.some(({ kind }) => kind !== "job")) return plan;
  const to = `${path}x`;
  const steps = plan.steps.map((step): PlanStep => {
    if (step.kind !== "job" || !users.includes(step)) return step;
    if (step.path === path) return { ...step, path: to };
    const again = JSON.parse(JSON.stringify(step).replaceAll(`"${path}"`, `"${to}"`)) as typeof step;
    return { ...again, fingerprint: fingerprint({ kind: "job", model: again.model, input: again.input }) };
  });
  const returns = JSON.parse(JSON.stringify(plan.returns).replaceAll(`"${path}"`, `"${to}"`)) as Plan["returns"];
  return { ...plan, steps, returns };
}

/** One of the jobs that only jobs use. */
function nameable(plan: Plan, index: number): string {
  const free = plan.steps.filter(({ path, kind }) => {
    return kind === "job" && plan.steps.every((user) => user.kind === "job" || !user.needs.includes(path));
  });
  return free[index % free.length]?.path ?? "";
}

function outside(plan: Plan): Plan {
  const expansions = plan.steps.filter(({ kind }) => kind === "expand").map(({ path }) => path);
  return { ...plan, steps: plan.steps.filter(({ path }) => !expansions.some((one) => path.startsWith(`${one}/`))) };
}

/** Up to where the change is made: to the end, or stopped before it and all that is on the service seen through. */
function go(run: FakeRun, { after: answers }: Change, next: () => number): void {
  if (answers === null) return void run.run(next);
  for (let count = 0; count < answers; count++) {
    run.decide();
    if (run.active.size > 0) run.answer(next());
  }
  run.decide();
  if (isRunFinal(run.state.status)) return;
  run.take([{ type: "run.paused", reason: "drift", message: ownText("something is to be changed") }]);
  expect(run.run(next)).toBe(true);
  expect(Object.values(run.state.steps).every((step) => hasNoOpenJobs(step, { paid: true }))).toBe(true);
}

/** As the engine does it: expansions that still stand keep their steps, the others are planned again. */
function take(run: FakeRun, what: Change): void {
  const before = run.events.length;
  alter(run, what);
  if (run.events.length === before && run.state.status === "paused") run.take([{ type: "run.resumed" }]);
}

function alter(run: FakeRun, what: Change): void {
  const { state } = run;
  const paths = Object.keys(state.steps).filter((path) => state.planned.plan.steps.some((step) => step.path === path));
  // Every step may have been dropped by now.
  if (paths.length === 0) return;
  const at = (index: number) => paths[index % paths.length]!;
  if (what.type === "rerun") {
    const named = what.steps.map(at).filter((path) => isStepFinal(state.steps[path]!.status));
    if (named.length === 0) return;
    const roots = new Map([...named, ...cancelledSteps(state, state.planned.plan)].map((path) => [path, "asked for"]));
    run.take(revisionEvents(state, { request: null, replanned: null, roots, prices: [] }));
    return;
  }
  const before = outside(state.planned.plan);
  const inner = state.planned.plan.steps.filter((step) => !before.steps.includes(step));
  const base =
    what.type === "edit"
      ? edited(before, new Set(what.steps.map(at)))
      : what.type === "rename"
        ? renamed(before, nameable(before, what.step))
        : (without(before, at(what.step), run.world) ?? before);
  const dangling = inner.some(({ needs }) =>
    needs.some((path) => !base.steps.concat(inner).some((step) => step.path === path)),
  );
  const plan = dangling ? state.planned.plan : { ...base, steps: [...base.steps, ...inner] };
  const diff = diffPlans(state.planned.plan, plan);
  if (diff.renamed.some(({ to }) => state.steps[to] !== undefined)) return;
  // The code that plans expansions knows the new name too.
  for (const { from, to } of diff.renamed) {
    const expansions = JSON.stringify(run.world.expansions ?? {}).replaceAll(`"${from}"`, `"${to}"`);
    const { [from]: fates = ["made"] as const, ...others } = run.world.fates ?? {};
    run.world = { ...run.world, expansions: JSON.parse(expansions), fates: { ...others, [to]: fates } };
  }
  const expanded = Object.fromEntries(
    Object.values(state.steps).flatMap(({ path, expanded: refs }) => (refs === null ? [] : [[path, refs] as const])),
  );
  const roots = new Map([...diff.changed.map(({ path }) => path), ...diff.added].map((path) => [path, "changed"]));
  for (const path of cancelledSteps(state, plan)) roots.set(path, "the run goes on");
  run.take(
    revisionEvents(state, {
      request: null,
      replanned: { plan, quoteMicros: null, renamed: diff.renamed, expanded },
      roots,
      prices: [],
    }),
  );
}

interface Drawn {
  readonly world: World;
  readonly order: readonly number[];
}

/** A run that ends after each change. */
function changed({ world, order }: Drawn, all: readonly Change[], onEnd: (run: FakeRun) => void = () => {}) {
  const run = new FakeRun(world);
  const next = cycling(order);
  for (const one of all) {
    go(run, one, next);
    take(run, one);
    expect(run.run(next)).toBe(true);
    onEnd(run);
  }
  return run;
}

function paidOf(state: RunState): number {
  const steps = Object.values(state.steps);
  const costs = steps.flatMap(({ attempts }) => attempts.map(({ costMicros }) => costMicros ?? 0));
  return costs.reduce((sum, cost) => sum + cost, 0);
}

function journalWith(events: readonly StoredEvent[], snapshot: FoldSnapshot): JournalStore {
  const read: JournalStore["read"] = async (_run, { afterSeq = 0, limit } = {}) =>
    structuredClone(events.slice(afterSeq, limit === undefined ? undefined : afterSeq + limit));
  return { read, snapshot: async () => snapshot } as Partial<JournalStore> as JournalStore;
}

describe("any run, changed in any way, again and again", () => {
  const changes = fc.array(change, { minLength: 1, maxLength: 4 });

  test("ends each time, lists all that it ever paid, and never repeats a key", () => {
    fc.assert(
      fc.property(randomWorld, changes, (drawn, all) => {
        const run = changed(drawn, all, ({ state }) => {
          expect([isRunFinal(state.status), state.heldMicros, state.spentMicros]).toEqual([true, 0, paidOf(state)]);
          expect(Object.values(state.steps).every((step) => hasNoOpenJobs(step, { paid: true }))).toBe(true);
        });
        const keys = run.events.flatMap(({ event }) => (event.type === "job.submit.intended" ? [event.key] : []));
        expect(new Set(keys).size).toBe(keys.length);
      }),
      runs(300),
    );
  });

  test("is the same from a snapshot at any event and the events after it as from all events [G48]", async () => {
    await fc.assert(
      fc.asyncProperty(randomWorld, changes, fc.array(fc.nat(1_000), { maxLength: 5 }), async (drawn, all, cuts) => {
        const { events } = changed(drawn, all);
        let state = fold(events.slice(0, 1))!;
        // Each snapshot is made of what was loaded from the one before.
        for (const cut of [...cuts.map((at) => (at % events.length) + 1), events.length].sort((a, b) => a - b)) {
          const before = snapshotOf(state);
          state = await loadRun(journalWith(events.slice(0, cut), before), "x");
          expect(state).toEqual(fold(events.slice(0, cut)));
        }
      }),
      runs(300),
    );
  });

  test("is shown the same when its view is patched by each event as when it is folded from the first one", () => {
    fc.assert(
      fc.property(randomWorld, changes, (drawn, all) => {
        expectPatchedView(changed(drawn, all).events);
      }),
      runs(40),
    );
  });

  test("fresh steps keep their results, and stale ones are listed with their former results", () => {
    fc.assert(
      fc.property(randomWorld, fc.array(fc.nat(20), { minLength: 1, maxLength: 3 }), ({ world, order }, steps) => {
        const run = new FakeRun(world);
        run.run(cycling(order));
        const { plan } = run.state.planned;
        const named = steps.map((at) => plan.steps[at % plan.steps.length]!.path);
        const roots = new Map([...named, ...cancelledSteps(run.state, plan)].map((path) => [path, "asked for"]));
        const stale = new Set(staleSteps(run.state, plan, roots));
        const before = structuredClone(run.state.steps);
        run.take(revisionEvents(run.state, { request: null, replanned: null, roots, prices: [] }));
        for (const [path, step] of Object.entries(run.state.steps)) {
          expect(step.attempts.filter(({ key }) => key !== null)).toEqual(
            before[path]!.attempts.filter(({ key }) => key !== null),
          );
          const isInner = [...stale].some((one) => path.startsWith(`${one}/`));
          if (!stale.has(path) && !isInner) expect(step).toEqual(before[path]);
          else if (stale.has(path) && !isInner) expect(step.status).toBe("waiting");
        }
      }),
      runs(200),
    );
  });

  test("every prefix of its journal folds to states that the charts have, and to the same state in one go", () => {
    fc.assert(
      fc.property(randomWorld, changes, ({ world, order }, all) => {
        const run = new FakeRun(world);
        const next = cycling(order);
        for (const one of all) {
          go(run, one, next);
          take(run, one);
        }
        run.run(next);
        for (let length = 1; length <= run.events.length; length += 1 + Math.floor(length / 40)) {
          expectCharted(fold(run.events.slice(0, length))!);
        }
        expect(fold(run.events)).toEqual(run.state);
      }),
      runs(100),
    );
  });
});
