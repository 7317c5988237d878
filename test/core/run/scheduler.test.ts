import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fold } from "../../../src/core/journal/events.ts";
import { isRunFinal, isStepFinal } from "../../../src/core/journal/state.ts";
import type { InboxMessage } from "../../../src/core/journal/store.ts";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import type { PlanStep } from "../../../src/core/plan/plan.ts";
import { inboxEvents } from "../../../src/core/run/inbox.ts";
import type { Headroom } from "../../../src/core/run/money.ts";
import { hasNoOpenJobs, revisionEvents, staleSteps } from "../../../src/core/run/rerun.ts";
import { FakeRun, type Fate, PRICE, type World } from "./support/fake-run.ts";
import { job, planOf, ref } from "./support/plans.ts";
import { randomWorld } from "./support/random-world.ts";
import { runs } from "./support/runs.ts";
import { pick, task, valueRef } from "./support/steps.ts";

/** What may happen to a run at any moment; `n` says to which part of it, or how much. */
interface Happening {
  readonly what: keyof typeof happenings;
  readonly n: number;
}

const HOUR_MS = 3_600_000;

const happenings = {
  answer: (run, n) => run.active.size > 0 && run.answer(n),
  "fail for a while": (run, n) => run.active.size > 0 && run.fail(n, 1000 * n),
  "fail for good": (run, n) => run.active.size > 0 && run.fail(n, Number.POSITIVE_INFINITY),
  unsent: (run, n) => {
    const submits = [...run.active.keys()].filter((id) => id.startsWith("submit:"));
    if (submits.length > 0) run.unsent.add(submits[n % submits.length]!);
  },
  wait: (run, n) => {
    run.now += n < 40 ? 250 * n : n * HOUR_MS;
  },
  stop: (run, n) => inbox(run, n, { type: "stop" }),
  approve: (run, n) => inbox(run, n, { type: "approve", step: pathAt(run, n), pick: n % 2 }),
  reject: (run, n) => inbox(run, n, { type: "reject", step: pathAt(run, n) }),
  adopt: (run, n) => inbox(run, n, { type: "adopt", step: pathAt(run, n), jobId: n % 2 === 0 ? `found-${n}` : null }),
  resume: (run) => run.state.status === "paused" && run.take([{ type: "run.resumed" }]),
  "ask for late work": (run, n) => {
    run.context = { ...run.context, asksForLate: n % 2 === 0 };
  },
  outage: (run) =>
    run.take([
      run.state.outage === null
        ? { type: "service.unavailable", reason: "unreachable", message: ownText("away") }
        : { type: "service.recovered" },
    ]),
  budget: (run, n) => run.take([{ type: "run.budget.set", budgetMicros: n * 50_000, maxUnquotedMicros: n }]),
  headroom: (run, n) => {
    const headroomMicros = n * 10_000;
    const terms = { what: "cap", title: "cap", resumesAt: null, flag: ["--cap ", ""], limitFlags: [] } as const;
    const cap = { ...terms, endsAt: n % 2 === 0 ? null : run.now + 1, capMicros: 2 * headroomMicros };
    const known: readonly Headroom[] = [
      { limit: "cap", headroomMicros, cap, committedMicros: headroomMicros },
      { limit: "floor", headroomMicros, floorMicros: 1, balanceMicros: headroomMicros, unseenMicros: 0 },
      { limit: "later", headroomMicros: 0, askAgainAt: run.now + 1000 },
    ];
    run.context = { ...run.context, headrooms: known.filter((_, index) => ((n >> index) & 1) === 1) };
  },
  order: (run, n) => {
    const { steps } = run.state.planned.plan;
    const at = n % Math.max(1, steps.length);
    run.context = { ...run.context, order: [...steps.slice(at), ...steps.slice(0, at).toReversed()] };
  },
  overcharge: (run, n) => {
    const worst = { quotedMicros: 100, chargedMicros: 100 + n };
    run.state.overcharges["m"] = { worst, unquotedMicros: null, times: 1, excessMicros: n };
  },
  rerun: (run, n) => {
    const { state } = run;
    const { plan } = state.planned;
    const path = pathAt(run, n);
    const roots = new Map([[path, "requested"]]);
    const stale = staleSteps(state, plan, roots);
    const isQuiet = run.active.size === 0 && stale.every((one) => hasNoOpenJobs(state.steps[one]!, { paid: true }));
    const isOver = isRunFinal(state.status) || state.status === "paused";
    if (!isQuiet || !isOver || !isStepFinal(state.steps[path]!.status)) return;
    run.take(revisionEvents(state, { request: null, replanned: null, roots, prices: [] }));
  },
  reload: (run) => void Object.assign(run.state, fold(run.events)),
} as const satisfies { readonly [what: string]: (run: FakeRun, n: number) => unknown };

function inbox(run: FakeRun, id: number, message: InboxMessage): void {
  run.take(inboxEvents(run.state, { id, at: run.now, message }));
}

function pathAt({ state }: FakeRun, n: number): string {
  const { steps } = state.planned.plan;
  return steps[n % steps.length]!.path;
}

const happening: fc.Arbitrary<Happening> = fc.record({
  what: fc.oneof(
    { weight: 12, arbitrary: fc.constant("answer" as const) },
    { weight: 10, arbitrary: fc.constantFrom(...(Object.keys(happenings) as (keyof typeof happenings)[])) },
  ),
  n: fc.nat(60),
});

const withinMs = 50;
const begun = { attempts: 2, onFailure: "continue" } as const;
/** Two options, each of two steps. */
const choiceOfLate: readonly PlanStep[] = [
  job("c/1/a", {}, { ...begun, withinMs }),
  job("c/1/z", { image: ref("c/1/a") }, begun),
  job("c/2/b", {}, { ...begun, withinMs, after: ["c/1/a", "c/1/z"] }),
  job("c/2/z", { image: ref("c/2/b") }, { ...begun, after: ["c/1/a", "c/1/z"] }),
  {
    ...pick("c/pick", [ref("c/1/a"), ref("c/2/z")]),
    second: { options: ["c/1", "c/2"], afterModeration: false, awayMs: null, out: [] },
  },
];

const anyFate = fc.constantFrom<Fate>("made", "failed", "failed-free", "moderated", "late-bill");

/** Chains that pause for what is late, beside a choice, with few slots. */
const lateWorld: fc.Arbitrary<World> = fc.record({
  total: fc.integer({ min: 1, max: 3 }),
  isDecidedTwice: fc.constant(true),
  fates: fc.dictionary(
    fc.constantFrom(...choiceOfLate.map(({ path }) => path), "p", "q"),
    fc.array(anyFate, { minLength: 1, maxLength: 2 }),
  ),
  plan: fc.subarray(["p", "q", "c"], { minLength: 1 }).map((parts) =>
    planOf(
      parts.flatMap((path) => {
        if (path === "c") return choiceOfLate;
        return [job(path, {}, { ...begun, withinMs }), job(`${path}2`, { image: ref(path) })];
      }),
    ),
  ),
});

/** Time enough for whatever is under way to be late. */
const later = fc.constant<Happening>({ what: "wait", n: 1 });

/**
 * The steps of a random world with readers of values, joins with a quorum, budgets of its expansions, jobs that are waited
 * for a while, and a choice whose options give way.
 */
function widened(world: World, groupMicros: number, quorum: number): World {
  const { plan, expansions = {} } = world;
  const media = plan.steps.filter(({ kind }) => kind === "job" || kind === "expand").map(({ path }) => path);
  const more: readonly PlanStep[] = [
    task("reads", { of: valueRef("v") }),
    task("lacks", { of: valueRef("reads", ["nothing"]), too: valueRef("v") }),
    job("if", {}, { when: { ref: valueRef("v").$ref, is: "truthy" } }),
    job("unless", {}, { when: { ref: valueRef("v").$ref, is: "falsy" } }),
    task("sees", { files: media.map((path) => ref(path, "all")) }, { onFailure: { quorum } }),
    job("second of all", { image: ref(media.at(-1)!, 1) }),
    ...choiceOfLate,
  ];
  const groups = Object.fromEntries(Object.keys(expansions).map((path) => [path, { maxCostMicros: groupMicros }]));
  const steps = [...plan.steps, ...more].map((step, at): PlanStep => {
    return step.kind === "job" && at % 2 === 0 ? { ...step, policy: { withinMs, ...step.policy } } : step;
  });
  return { ...world, isDecidedTwice: true, plan: { ...plan, steps, groups } };
}

describe("a scheduler that is told of every event", () => {
  test("decides what a look at all steps decides, whatever happens to the run", () => {
    const things = fc.array(happening, { minLength: 20, maxLength: 120 });
    const group = fc.integer({ min: PRICE / 2, max: 3 * PRICE });
    const wide = fc
      .tuple(randomWorld, group, fc.integer({ min: 1, max: 6 }))
      .map(([random, micros, n]) => widened(random.world, micros, n));
    const play = (world: World, all: readonly Happening[]) => {
      const run = new FakeRun(world);
      run.decide();
      for (const { what, n: part } of all) {
        const { plan } = run.state.planned;
        happenings[what](run, part);
        // A plan that has changed has an order of its own.
        if (run.state.planned.plan !== plan) run.context = { ...run.context, order: run.state.planned.plan.steps };
        run.decide();
      }
    };
    fc.assert(fc.property(wide, things, play), runs(1000, 80));
    const slowly = fc.array(fc.oneof({ weight: 1, arbitrary: happening }, { weight: 2, arbitrary: later }), {
      minLength: 20,
      maxLength: 80,
    });
    fc.assert(fc.property(lateWorld, slowly, play), runs(1000, 80));
  });

  test("asks again for a bill that was given up, once the run is reopened", () => {
    const run = new FakeRun({ plan: planOf([job("a")]), fates: { a: ["late-bill"] }, isDecidedTwice: true });
    const settling = () => [...run.active.keys()].findIndex((id) => id.startsWith("settle:"));
    for (run.decide(); !isRunFinal(run.state.status); run.decide()) {
      if (settling() === -1) run.answer(0);
      else run.fail(settling(), Number.POSITIVE_INFINITY);
    }
    expect(run.state).toMatchObject({ status: "succeeded", heldMicros: PRICE });
    run.notBefore.clear();
    run.take([{ type: "run.reopened" }]);
    run.decide();
    expect(settling()).not.toBe(-1);
    run.answer(settling());
    run.decide();
    expect(run.state).toMatchObject({ status: "succeeded", heldMicros: 0, spentMicros: PRICE });
  });

  test("counts the slot of a late job again once it is waited for again", () => {
    const steps = ["p", "q"].flatMap((path) => [job(path, {}, { withinMs }), job(`${path}2`, { image: ref(path) })]);
    const run = new FakeRun({ plan: planOf(steps), total: 1, isDecidedTwice: true });
    const answer = (id: string) => {
      run.answer([...run.active.keys()].indexOf(id));
      run.decide();
    };
    const at = (path: string) => run.state.steps[path]!;
    run.decide();
    for (const path of ["p", "q"]) {
      answer(`quote:${path}#1`);
      answer(`submit:${path}#1`);
      run.now += withinMs;
      run.decide();
    }
    expect(run.state.pause).toMatchObject({ reason: "late", late: ["p", "q"] });
    run.take([{ type: "run.resumed" }]);
    run.decide();
    answer("follow:q#1");
    answer("download:q#1.0");
    answer("quote:q2#1");
    expect(at("p").attempts[0]?.awaitedSince).toBeDefined();
    expect([at("q").status, at("q2").attempts[0]?.phase]).toEqual(["succeeded", "priced"]);
  });

  test.each([
    ["", []],
    [", also after one was late", [job("late", {}, { withinMs })]],
  ])("decides a step a few times, however many others there are%s", (_, first) => {
    const decided = (count: number) => {
      const layers = Array.from({ length: count / 10 }, (_, layer) => layer);
      const steps = layers.flatMap((layer) =>
        Array.from({ length: 10 }, (_, column) =>
          job(`${layer}-${column}`, layer === 0 ? {} : { image: ref(`${layer - 1}-${column}`) }),
        ),
      );
      const run = new FakeRun({ plan: planOf([...first, ...steps]) });
      for (const { path } of first) {
        run.decide();
        run.answer([...run.active.keys()].indexOf(`quote:${path}#1`));
        run.decide();
        run.answer([...run.active.keys()].indexOf(`submit:${path}#1`));
        run.now += withinMs;
        run.decide();
        expect(run.log()).toContain(`${path} step.overdue`);
      }
      let reads = 0;
      const counted = new Proxy(run.state.steps, {
        get(target, path: string) {
          reads++;
          return target[path];
        },
      });
      run.state.steps = counted;
      expect(run.run()).toBe(true);
      return reads / count;
    };
    const [few, many] = [decided(100), decided(1000)];
    expect(many).toBeLessThan(few * 1.5);
  });
});
