import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { StoredEvent } from "../../../src/core/journal/events.ts";
import { isStepFinal, type RunState } from "../../../src/core/journal/state.ts";
import { type Json, type PlanStep, traitsOf } from "../../../src/core/plan/plan.ts";
import { revisionEvents } from "../../../src/core/run/rerun.ts";
import { FakeRun, type Fate, PRICE, type World } from "./support/fake-run.ts";
import { type JobOptions, job, planOf, ref } from "./support/plans.ts";
import { cycling, randomWorld } from "./support/random-world.ts";
import { runs } from "./support/runs.ts";
import { expansion, gate, pick, task, valueRef } from "./support/steps.ts";

const lost = { fates: { a: ["failed"] }, total: 1 } as const satisfies Partial<World>;

const { through } = FakeRun;

/** Steps that were paid for, in the order in which they were. */
function bought(run: FakeRun): readonly string[] {
  return run.events.flatMap(({ event }) => (isSubmit(event) ? [event.step] : []));
}

function isSubmit(event: StoredEvent["event"]) {
  return event.type === "job.submit.intended" || event.type === "chat.intended";
}

/** A run that has ended, of a pipeline that returns the film. */
const filmed = (steps: readonly PlanStep[], more: Omit<World, "plan"> = lost): FakeRun =>
  through({ plan: planOf(steps, { film: ref("film") }), ...more });

const frames = (...names: readonly string[]) => names.map((path) => job(path));
const film = (uses: readonly string[], options: JobOptions = {}) =>
  job("film", Object.fromEntries(uses.map((path) => [path, ref(path)])), options);

describe("a film that cannot be produced any more", () => {
  const three = ["f1", "f2", "f3"];

  test.each(["a", "z"])("leaves the frames unpaid that only it uses, whatever the name of what failed (%s)", (name) => {
    const steps = [job(name), ...frames(...three), film([name, ...three])];
    const run = filmed(steps, { fates: { [name]: ["failed"] }, total: 1 });
    expect(bought(run)).toEqual([name]);
    expect(run.state.spentMicros).toBe(PRICE);
    expect(run.state.steps.f2).toMatchObject({
      status: "skipped",
      pruned: true,
      reason: `no longer needed: film was skipped (needs ${name}, which failed)`,
    });
    expect(run.state).toMatchObject({ status: "failed", message: `${name}: INTERNAL: failed on paper` });
  });

  test("takes along all that led to the frames, and leaves what something else still uses", () => {
    const steps = [
      job("a"),
      job("look"),
      job("cast"),
      job("f1", { look: ref("look") }),
      job("f2", { cast: ref("cast") }),
      film(["a", "f1", "f2"]),
      job("poster", { cast: ref("cast") }),
    ];
    const run = through({ plan: planOf(steps, { film: ref("film"), poster: ref("poster") }), ...lost });
    expect(bought(run)).toEqual(["a", "cast", "poster"]);
    expect(run.state.steps.look!.reason).toBe("no longer needed: film was skipped (needs a, which failed)");
  });

  test("leaves frames that the pipeline returns", () => {
    const steps = [job("a"), ...frames(...three), film(["a", ...three])];
    const run = through({ plan: planOf(steps, { film: ref("film"), best: ref("f2") }), ...lost });
    expect(bought(run)).toEqual(["a", "f2"]);
  });

  test("does not take back what is on the service: it is collected, and its own makers stay paid", () => {
    const steps = [job("a"), ...frames(...three), film(["a", ...three])];
    const run = filmed(steps, { fates: lost.fates, total: 3 });
    expect(bought(run)).toEqual(["a", "f1", "f2"]);
    expect(run.state.steps.f1).toMatchObject({ status: "succeeded" });
    expect(run.state.steps.f1!.attempts[0]!.outputs[0]!.phase).toBe("downloaded");
    expect(run.state.steps.f3).toMatchObject({ status: "skipped", pruned: true });
  });
});

describe("what takes the last root away", () => {
  test("a rejected decision", () => {
    const steps = [
      job("look"),
      gate("gate", [ref("look")]),
      job("f1"),
      job("f2", { before: ref("f1") }),
      film(["gate", "f2"]),
    ];
    const run = new FakeRun({ plan: planOf(steps, { film: ref("film") }) });
    while (run.state.steps.gate!.status !== "running" || bought(run).length < 2) {
      run.decide();
      run.answer(0);
    }
    run.take([{ type: "approval.decided", step: "gate", approved: false, pick: null, note: "another look" }]);
    expect(run.run()).toBe(true);
    expect(bought(run)).toEqual(["look", "f1"]);
    expect(run.state.steps.f2!.reason).toBe("no longer needed: film was skipped (needs gate, which failed)");
  });

  test("a decision that nothing depends on any more is not waited for", () => {
    const steps = [job("look"), gate("gate", [ref("look")]), job("a", { look: ref("look") }), film(["gate", "a"])];
    const run = filmed(steps);
    expect(run.state.status).toBe("failed");
    expect(run.state.steps.gate).toMatchObject({ status: "skipped", pruned: true });
  });

  test("a quorum that cannot be reached any more, before all it waits for is over", () => {
    const clips = ["a", "b", "c", "d", "e"];
    const cut = job("cut", { clips: clips.map((path) => ref(path)) }, { onFailure: { quorum: 4 } });
    const plan = planOf([...frames(...clips), cut], { cut: ref("cut") });
    const run = through({ plan, fates: { a: ["failed"], b: ["failed"] }, total: 1 });
    expect(bought(run)).toEqual(["a", "b"]);
    expect(run.state.steps.cut!.reason).toMatch(/^needs 4 results but has 3: needs output 0 of a,/);
  });

  test("a condition that does not hold", () => {
    const steps = [
      task("ask"),
      job("f", {}, { after: ["ask"] }),
      film(["f"], { when: { ref: valueRef("ask").$ref, is: "truthy" } }),
    ];
    const run = filmed(steps, { values: { ask: false } });
    expect(bought(run)).toEqual([]);
    expect(run.state.steps.f!.reason).toBe("no longer needed: film was skipped (not needed: ask is empty)");
    expect(run.state.status).toBe("succeeded");
  });

  test("a value that is not in an answer", () => {
    const steps = [
      task("ask"),
      job("f", {}, { after: ["ask"] }),
      job("film", { frame: ref("f"), title: valueRef("ask", ["title"]) }),
    ];
    const run = filmed(steps, { values: { ask: {} } });
    expect(bought(run)).toEqual([]);
  });

  test("a step that is only waited for", () => {
    const steps = [job("a"), job("f"), film(["f"], { after: ["a"] })];
    expect(bought(filmed(steps))).toEqual(["a"]);
  });

  test("one clip of an expansion whose whole list is used: the other clips are not paid for", () => {
    const shots = ["shots/1", "shots/2", "shots/3"];
    const steps = [task("list"), expansion("shots", valueRef("list")), job("cut", { clips: [ref("shots", "all")] })];
    const expansions = { shots: { steps: frames(...shots), returns: shots.map((path) => ref(path)) } };
    const plan = planOf(steps, { cut: ref("cut") });
    const world = { expansions, values: { list: [1, 2, 3] }, fates: { "shots/1": ["failed"] }, total: 1 } as const;
    const run = through({ ...world, plan });
    expect(bought(run)).toEqual(["shots/1"]);
    expect(run.state.steps.cut!.reason).toBe("needs all outputs of shots, but the one from shots/1 was not produced");
    expect(run.state.steps.shots).toMatchObject({ status: "skipped", pruned: true });
    const kept = through({ ...world, plan: planOf(steps, { cut: ref("cut"), shots: ref("shots", "all") }) });
    expect(bought(kept)).toEqual(shots);
  });

  test.each([
    ["one picture", { look: ref("gate") }, {}],
    ["a quorum of pictures", { looks: [ref("gate", "all")] }, { onFailure: { quorum: 1 } }],
  ] as const)("an approval that will have nothing to pass on, to a film of %s", (_, input, options) => {
    const steps = [
      task("list"),
      expansion("looks", valueRef("list")),
      gate("gate", [ref("looks", "all")]),
      job("f", {}, { after: ["looks"] }),
      job("film", { ...input, f: ref("f") }, options),
    ];
    const expansions = { looks: { steps: [], returns: [] } };
    const run = filmed(steps, { expansions, values: { list: [] } });
    expect(bought(run)).toEqual([]);
  });

  test("of two ways to the same picture the second is not tried for a film that is lost", () => {
    const best = pick("best", [ref("first"), ref("second")]);
    const steps = [job("a"), job("first"), job("second", {}, { when: { failed: "first" } }), best, film(["a", "best"])];
    const fates = { a: ["failed"], first: ["failed"] } as const;
    const plan = planOf(steps, { film: ref("film") });
    expect(bought(through({ plan, fates, total: 1 }))).toEqual(["a"]);
    expect(bought(through({ plan, fates: { first: ["failed"] } }))).toEqual(["a", "first", "second", "film"]);
  });
});

describe("what is a root runs as written", () => {
  test("a paid step that nothing ever used", () => {
    const steps = [job("a"), job("loose"), film(["a"])];
    expect(bought(filmed(steps))).toEqual(["a", "loose"]);
  });

  test("a step that says prune: false, with all that it needs", () => {
    const steps = [
      job("a"),
      job("look"),
      job("f1", { look: ref("look") }, { prune: false }),
      job("f2"),
      film(["a", "f1", "f2"]),
    ];
    expect(bought(filmed(steps))).toEqual(["a", "look", "f1"]);
  });
});

describe("rerun", () => {
  const steps = [job("a"), job("look"), job("f1", { look: ref("look") }), job("f2"), film(["a", "f1", "f2"])];

  function again(run: FakeRun, path: string): void {
    run.world = { ...run.world, fates: {} };
    run.take(
      revisionEvents(run.state, { request: null, replanned: null, roots: new Map([[path, "asked for"]]), prices: [] }),
    );
    expect(run.run()).toBe(true);
  }

  test("a failed step brings back the steps skipped for it, and the film is produced [G19]", () => {
    const run = filmed(steps);
    expect(bought(run)).toEqual(["a"]);
    again(run, "a");
    expect([...bought(run)].sort()).toEqual(["a", "a", "f1", "f2", "film", "look"]);
    expect(run.state.status).toBe("succeeded");
  });

  test("but not what another failure still keeps out", () => {
    const more = [job("b"), ...steps, job("g"), job("poster", { b: ref("b"), g: ref("g"), f: ref("f2") })];
    const plan = planOf(more, { film: ref("film"), poster: ref("poster") });
    const run = through({ plan, fates: { a: ["failed"], b: ["failed"] }, total: 1 });
    again(run, "a");
    expect(bought(run)).not.toContain("g");
    expect(run.state.status).toBe("partial");
  });
});

/** Whether some condition waits for this very failure. */
function isBackedUp({ planned }: RunState, path: string): boolean {
  return planned.plan.steps.some(({ when }) => when !== undefined && "failed" in when && when.failed === path);
}

/** Values or failures that a condition of an open step looks at. */
function watched(state: RunState): readonly string[] {
  const open = state.planned.plan.steps.filter(({ path }) => !isStepFinal(state.steps[path]!.status));
  const seen = open.flatMap(({ when }) => (when === undefined ? [] : ["failed" in when ? when.failed : when.ref.step]));
  return [...new Set(seen)].filter((path) => !isStepFinal(state.steps[path]!.status));
}

/** Whether any root that the step leads to can still come, tried out: everything goes well from here on. */
function leadsToRoot(world: World, before: readonly StoredEvent[], path: string): boolean {
  const now = FakeRun.after(unpruned(world), before.map(unprunedEvent));
  const toggles = watched(now.state);
  fc.pre(toggles.length <= 3);
  for (let bits = 0; bits < 2 ** toggles.length; bits++) {
    const isOn = (step: string) => toggles.includes(step) && ((bits >> toggles.indexOf(step)) & 1) === 1;
    const all = [
      ...now.state.planned.plan.steps,
      ...Object.values(world.expansions ?? {}).flatMap(({ steps }) => steps),
    ];
    const fates = Object.fromEntries(
      all.map((step): [string, readonly Fate[]] => [
        step.path,
        [isOn(step.path) && isBackedUp(now.state, step.path) ? "moderated" : "made"],
      ]),
    );
    const values = {
      ...world.values,
      ...Object.fromEntries(toggles.map((step): [string, Json] => [step, isOn(step)])),
    };
    // What an expansion that is not planned yet leads to, nobody knows.
    const open = Object.keys(world.expansions ?? {}).filter((one) => now.state.steps[one]?.expanded === null);
    const expansions = {
      ...unpruned(world).expansions,
      ...Object.fromEntries(open.map((one) => [one, generous(one)])),
    };
    const future = FakeRun.after(
      { ...unpruned(world), expansions, fates, values, decisions: "first" },
      before.map(unprunedEvent),
    );
    expect(future.run()).toBe(true);
    if (rootsAbove(future.state, path).some((root) => isThere(future.state, root))) return true;
  }
  return false;
}

function generous(path: string) {
  const steps = ["x", "y", "z"].map((name) => job(`${path}/${name}`));
  return { steps, returns: steps.map((step) => ref(step.path)) };
}

function isThere(state: RunState, path: string): boolean {
  return state.steps[path]?.status === "succeeded" || state.steps[path]?.status === "partial";
}

/** Roots that a step leads to, itself included. */
function rootsAbove({ planned, steps }: RunState, path: string): readonly string[] {
  const uses = (step: PlanStep) => [...step.needs, ...(steps[step.path]!.expanded ?? []).map(({ $ref }) => $ref.step)];
  const above = new Set([path]);
  for (const one of above) for (const step of planned.plan.steps) if (uses(step).includes(one)) above.add(step.path);
  const used = new Set(planned.plan.steps.flatMap(uses));
  const returned = JSON.stringify(planned.plan.returns);
  return [...above].filter((one) => !used.has(one) || returned.includes(`"step":"${one}"`));
}

const keep = (step: PlanStep): PlanStep =>
  "policy" in step ? ({ ...step, policy: { ...step.policy, prune: false } } as PlanStep) : step;

function unpruned(world: World): World {
  const expansions = Object.entries(world.expansions ?? {}).map(([path, one]) => [
    path,
    { ...one, steps: one.steps.map(keep) },
  ]);
  return {
    ...world,
    plan: { ...world.plan, steps: world.plan.steps.map(keep) },
    expansions: Object.fromEntries(expansions),
  };
}

function unprunedEvent(stored: StoredEvent): StoredEvent {
  const { event } = stored;
  return event.type === "expand.planned" ? { ...stored, event: { ...event, steps: event.steps.map(keep) } } : stored;
}

/** Conditions look at a failure or a value, and a step that watches another does not use it. */
function withConditions(world: World): World {
  const values: Record<string, Json> = { ...world.values };
  const steps = world.plan.steps.map(reachable).map((step, index): PlanStep => {
    if (step.kind !== "job" || step.when === undefined) return step;
    const { outputs } = step;
    const { onFailure: _, ...own } = step.policy;
    const asked = world.plan.steps.slice(0, index).findLast(({ kind }) => kind === "chat" || kind === "task");
    const isWork = "failed" in step.when && isJob(world, step.when.failed);
    if (!isWork && asked === undefined) return job(step.path, {}, { ...own, outputs });
    if (isWork && (index % 2 === 0 || asked === undefined))
      return job(step.path, {}, { ...own, outputs, when: step.when });
    values[asked!.path] = index % 3 === 0;
    return job(step.path, {}, { ...own, outputs, when: { ref: valueRef(asked!.path).$ref, is: "truthy" } });
  });
  const expansions = Object.entries(world.expansions ?? {}).map(([path, one]) => [
    path,
    { ...one, steps: one.steps.map(reachable) },
  ]);
  return { ...world, values, plan: { ...world.plan, steps }, expansions: Object.fromEntries(expansions) };
}

/** What nothing uses is cut into two films, so that a failure takes much away. */
function withFilms(world: World): World {
  const { plan, expansions = {} } = world;
  const all = [...plan.steps, ...Object.values(expansions).flatMap(({ steps }) => steps)];
  const used = new Set(all.flatMap(({ needs }) => needs));
  const loose = plan.steps.filter(({ path, kind }) => !used.has(path) && kind !== "upload");
  const filmOf = (of: number) => {
    const needs = loose.filter((_, index) => index % 2 === of).map(({ path }) => path);
    return job(`film${of}`, {}, { after: needs });
  };
  const steps = [...plan.steps, filmOf(0), filmOf(1)];
  return { ...world, total: 1, plan: { ...plan, steps, returns: { film: ref("film0") } } };
}

function isJob({ plan }: World, path: string): boolean {
  return plan.steps.some((step) => step.path === path && step.kind === "job");
}

/** No quorum of more than the step uses: a plan refuses that. No failure that stops the run: that is another property. */
function reachable(step: PlanStep): PlanStep {
  if (!("policy" in step)) return step;
  const { onFailure, ...own } = step.policy;
  const quorum = typeof onFailure === "object" ? Math.min(onFailure.quorum, step.needs.length) : 0;
  return { ...step, policy: quorum === 0 ? own : { ...own, onFailure: { quorum } } } as PlanStep;
}

/** A step that can only be made if another both fails and does not: nothing of it can ever come. */
function isContradictory({ plan, expansions = {} }: World): boolean {
  const steps = [...plan.steps, ...Object.values(expansions).flatMap((one) => one.steps)];
  const stepAt = new Map(steps.map((step) => [step.path, step]));
  return steps.some((step) => {
    const failed = new Set<string>();
    const made = new Set([step.path]);
    // A failure too needs all that its step is made of: else it never begins, which is no failure.
    const begun = new Set(made);
    for (const path of begun) {
      const one = stepAt.get(path);
      const target = one?.when !== undefined && "failed" in one.when ? one.when.failed : null;
      if (target !== null) failed.add(target);
      const used = one === undefined ? [] : traitsOf(one).uses.map(({ step: source }) => source);
      for (const needed of one?.needs ?? []) if (needed !== target || used.includes(needed)) made.add(needed);
      for (const { $ref } of made.has(path) ? (expansions[path]?.returns ?? []) : []) made.add($ref.step);
      for (const other of [...made, ...failed]) begun.add(other);
    }
    return [...failed].some((path) => made.has(path));
  });
}

describe("any pipeline, with any failures, answered in any order", () => {
  test("pays for nothing after the moment from which no root could come of it [G19]", () => {
    let looked = 0;
    let left = 0;
    fc.assert(
      fc.property(randomWorld, ({ world: drawn, order }) => {
        const world = withFilms(withConditions(drawn));
        fc.pre(!isContradictory(world) && world.plan.onFailure !== "failFast");
        const run = through(world, cycling(order));
        left += Object.values(run.state.steps).filter(({ pruned }) => pruned).length;
        for (const [index, { event }] of run.events.entries()) {
          if (!isSubmit(event) || !("step" in event)) continue;
          const before = run.events.slice(0, index);
          looked++;
          if (!leadsToRoot(world, before, event.step))
            throw new Error(`${event.step} was paid for at ${index}\n${run.log().join("\n")}`);
        }
      }),
      runs(200),
    );
    expect(looked).toBeGreaterThan(runs(200).numRuns);
    expect(left).toBeGreaterThan(runs(200).numRuns / 4);
  });
});
