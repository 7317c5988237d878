import fc from "fast-check";
import { expect, test } from "vitest";
import type { PlanStep } from "../../../src/core/plan/plan.ts";
import { FakeRun, PRICE, type World } from "./support/fake-run.ts";
import { job, planOf, ref } from "./support/plans.ts";
import { runs } from "./support/runs.ts";

const uses = (...paths: readonly string[]) => Object.fromEntries(paths.map((path) => [path, ref(path)]));

/** Priced as a plan is, with the steps whose media may be refused. */
function priced(world: World, conditions: { readonly [path: string]: readonly string[] }): FakeRun {
  const run = new FakeRun({ isDecidedTwice: true, ...world });
  const quote = { type: "job.quoted", attempt: 1, costMicros: PRICE } as const;
  run.take(
    world.plan.steps.map(({ path, needs }) => ({
      ...{ ...quote, step: path, basis: needs.length > 0 ? "provisional" : "quoted" },
      ...(conditions[path] !== undefined && { conditionalOn: conditions[path] }),
    })),
  );
  return run;
}

function bought(run: FakeRun): readonly string[] {
  return run.events.flatMap(({ event }) => (event.type === "job.submit.intended" ? [event.step] : []));
}

const avatar = [job("still"), job("line"), job("avatar", uses("still", "line"))];

test("what only a step needs whose media may be refused is bought once those exist and are accepted", () => {
  const run = priced({ plan: planOf(avatar, { film: ref("avatar") }) }, { avatar: ["line"] });
  expect(run.run()).toBe(true);
  expect([bought(run), run.state.status]).toEqual([["line", "still", "avatar"], "succeeded"]);
});

test("and never where they are refused", () => {
  const world = { plan: planOf(avatar, { film: ref("avatar") }), refusedMedia: { avatar: "line" } };
  const run = priced(world, { avatar: ["line"] });
  expect(run.run()).toBe(true);
  expect([bought(run), run.state.steps.still!.pruned, run.state.status]).toEqual([["line"], true, "failed"]);
});

test("what something else needs too does not wait", () => {
  const run = priced({ plan: planOf(avatar, { film: ref("avatar"), still: ref("still") }) }, { avatar: ["line"] });
  expect(run.run()).toBe(true);
  expect(bought(run)).toEqual(["still", "line", "avatar"]);
});

test("media of two steps that each may be refused are made side by side", () => {
  const run = priced({ plan: planOf(avatar, { film: ref("avatar") }) }, { avatar: ["line", "still"] });
  run.decide();
  expect([...run.active.keys()]).toEqual(["submit:still#1", "submit:line#1"]);
});

/** Jobs that each use up to three of those before them. */
const graph = fc.array(fc.array(fc.nat(), { maxLength: 3 }), { minLength: 3, maxLength: 12 }).map((picks) =>
  picks.map((pick, index) => {
    const paths = index === 0 ? [] : [...new Set(pick.map((one) => `s${one % index}`))];
    return job(`s${index}`, uses(...paths));
  }),
);

function withSources(steps: readonly PlanStep[], path: string): ReadonlySet<string> {
  const found = new Set([path]);
  for (const one of found) for (const needed of steps.find((step) => step.path === one)!.needs) found.add(needed);
  return found;
}

test("of whatever pipeline: it ends, and buys nothing for a refused step but the media that were refused", () => {
  const check = (steps: readonly PlanStep[], pick: number, order: readonly number[]) => {
    const users = steps.filter(({ needs }) => needs.length > 0);
    const target = users[pick % Math.max(1, users.length)];
    if (target === undefined) return;
    const source = target.needs[pick % target.needs.length]!;
    const plan = planOf(steps, {});
    const run = priced({ plan, refusedMedia: { [target.path]: source } }, { [target.path]: [source] });
    let at = 0;
    expect(run.run(() => order[at++ % order.length]!)).toBe(true);
    const used = new Set(steps.flatMap(({ needs }) => needs));
    const lost = steps.filter(({ path }) => withSources(steps, path).has(target.path)).map(({ path }) => path);
    const roots = steps.filter(({ path }) => !used.has(path) && !lost.includes(path));
    const wanted = [...roots.map(({ path }) => path), source].flatMap((path) => [...withSources(steps, path)]);
    expect(bought(run).filter((path) => !wanted.includes(path))).toEqual([]);
  };
  fc.assert(fc.property(graph, fc.nat(), fc.array(fc.nat(), { minLength: 1 }), check), runs(300));
});

test("with any conditions at once it ends, and every step is bought", () => {
  const check = (steps: readonly PlanStep[], picks: readonly boolean[], order: readonly number[]) => {
    let at = 0;
    const conditions = steps.flatMap(({ path, needs }) => {
      const some = needs.filter(() => picks[at++ % picks.length]);
      return some.length === 0 ? [] : [[path, some] as const];
    });
    const run = priced({ plan: planOf(steps, {}) }, Object.fromEntries(conditions));
    expect(run.run(() => order[at++ % order.length]!)).toBe(true);
    expect([run.state.status, bought(run).length]).toEqual(["succeeded", steps.length]);
  };
  const picks = fc.array(fc.boolean(), { minLength: 1 });
  fc.assert(fc.property(graph, picks, fc.array(fc.nat(), { minLength: 1 }), check), runs(300));
});
