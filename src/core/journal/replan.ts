import { traitsOf, withEdits, withSeeds } from "../plan/index.ts";
import { type Plan, type PlanStep, type Reference, stepNamed } from "../plan/plan.ts";
import type { ExpandPlanned, RunReplanned } from "./events/facts.ts";
import { isStepFinal, newStep, type RunState, type StepState, wasSent } from "./state.ts";

/** @throws {@link IllegalEventError} if the step's state chart has no such transition. */
export type Move = (step: StepState, type: string) => void;

/** Removed steps stay listed, and are cancelled if they have not ended. */
export function replan(state: RunState, event: RunReplanned, move: Move): void {
  const { plan, renamed, expanded, edited } = event;
  const { source = state.planned.source, input = state.planned.input } = event;
  const before = state.planned.plan;
  const names = new Map(renamed.map(({ from, to }) => [from, to]));
  if (names.size > 0) rename(state, names);
  const { basis: _, ...planned } = state.planned;
  const edits = edited === undefined ? planned.edits : withEdits(planned.edits ?? {}, edited.steps);
  const texts = edited?.texts === undefined ? planned.texts : [...(planned.texts ?? []), ...edited.texts];
  state.planned = {
    ...{ ...planned, plan, source, input },
    ...(edits !== undefined && { edits }),
    ...(texts !== undefined && { texts }),
  };
  for (const { path } of plan.steps) state.steps[path] ??= newStep(path);
  for (const [path, returns] of Object.entries(expanded)) stepIn(state, path).expanded = returns;
  const requested = new Set(plan.steps.map(({ path }) => path));
  leave(
    state,
    before.steps.filter(({ path }) => !requested.has(path) && !names.has(path)),
    move,
  );
}

export function reseed(state: RunState, seeds: { readonly [step: string]: number }): void {
  const { basis: _, ...planned } = state.planned;
  const edited = Object.entries(seeds).map(([path, seed]) => [path, { set: { seed }, without: [] }] as const);
  const edits = withEdits(planned.edits ?? {}, Object.fromEntries(edited));
  state.planned = { ...planned, plan: withSeeds(planned.plan, seeds), edits };
}

export function leaveExpansion(state: RunState, path: string, move: Move): void {
  const isInside = (step: PlanStep) => step.path.startsWith(`${path}/`);
  const { plan } = state.planned;
  const inside = plan.steps.filter(isInside);
  if (inside.length === 0) return;
  state.planned = withSteps(
    state,
    plan.steps.filter((step) => !isInside(step)),
  );
  leave(state, inside, move);
}

/** A step keeps its earlier result if its request and inputs are unchanged. */
export function enterExpansion(state: RunState, event: ExpandPlanned, move: Move): void {
  stepIn(state, event.step).expanded = event.returns;
  const formerly = new Map(state.removedSteps.map((step) => [step.path, step.fingerprint]));
  const again = new Set<string>();
  for (const { path, fingerprint, needs } of event.steps) {
    const known = state.steps[path];
    if (known === undefined) state.steps[path] = newStep(path);
    const isCreated = known?.status === "succeeded" || known?.status === "partial";
    if (isCreated && formerly.get(path) === fingerprint && !needs.some((needed) => again.has(needed))) continue;
    again.add(path);
    if (known !== undefined) reset(state, known, move);
  }
  const planned = new Set(event.steps.map(({ path }) => path));
  state.removedSteps = state.removedSteps.filter(({ path }) => !planned.has(path));
  const { plan } = state.planned;
  const stored = plan.steps.filter(({ path }) => !planned.has(path));
  state.planned = withSteps(state, [...stored, ...event.steps], event.groups);
}

/** The step's results stay listed, but attempts after the last request are dropped. */
export function reset(state: RunState, step: StepState, move: Move, more: Partial<StepState> = {}): void {
  move(step, "step.reset");
  const { path } = step;
  const attempts = step.attempts.slice(0, step.attempts.findLastIndex(wasSent) + 1);
  const superseded = attempts.length;
  // A rerun request that is not fulfilled yet stays open.
  const isOwed = step.rerunRequested && superseded === step.superseded;
  const again = isOwed || more.onlyIfInputsChanged !== true;
  state.steps[path] = {
    ...newStep(path),
    attempts,
    superseded,
    ...more,
    rerunRequested: again,
    onlyIfInputsChanged: !again,
  };
  state.files = state.files.filter((file) => file.step !== path);
}

export function isExpansion(state: RunState, path: string): boolean {
  const step = stepNamed(state.planned.plan, path);
  return step !== undefined && traitsOf(step).expansion !== null;
}

function leave(state: RunState, steps: readonly PlanStep[], move: Move): void {
  for (const { path } of steps) {
    const step = stepIn(state, path);
    if (!isStepFinal(step.status)) move(step, "step.cancelled");
  }
  const inPlan = new Set(state.planned.plan.steps.map(({ path }) => path));
  const leaving = new Set(steps.map(({ path }) => path));
  state.removedSteps = [...state.removedSteps.filter(({ path }) => !leaving.has(path) && !inPlan.has(path)), ...steps];
}

function rename(state: RunState, names: ReadonlyMap<string, string>): void {
  const nameOf = (path: string) => names.get(path) ?? path;
  const refOf = (ref: Reference): Reference => ({ $ref: { ...ref.$ref, step: nameOf(ref.$ref.step) } });
  const steps = Object.values(state.steps).map((step): StepState => {
    const { chosen, expanded } = step;
    return {
      ...step,
      path: nameOf(step.path),
      chosen: chosen === null ? null : { ...chosen, step: nameOf(chosen.step) },
      expanded: expanded === null ? null : expanded.map(refOf),
    };
  });
  state.steps = Object.assign(Object.create(null), Object.fromEntries(steps.map((step) => [step.path, step])));
  state.files = state.files.map((file) => ({ ...file, step: nameOf(file.step) }));
  const { edits } = state.planned;
  if (edits !== undefined) state.planned = { ...state.planned, edits: renamedKeys(edits, nameOf) };
  state.reruns = state.reruns.map((request) => ({ ...request, steps: request.steps.map(nameOf) }));
  const former = Object.entries(state.formerNames).map(([name, now]) => [name, nameOf(now)]);
  state.formerNames = { ...Object.fromEntries(former), ...Object.fromEntries(names) };
}

function renamedKeys<T>(record: { readonly [key: string]: T }, nameOf: (key: string) => string): { [key: string]: T } {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [nameOf(key), value]));
}

function withSteps(state: RunState, steps: readonly PlanStep[], groups?: Plan["groups"]): RunState["planned"] {
  const { plan } = state.planned;
  return { ...state.planned, plan: { ...plan, steps, groups: { ...plan.groups, ...groups } } };
}

function stepIn(state: RunState, path: string): StepState {
  const step = state.steps[path];
  if (step === undefined) throw new Error(`Run ${state.runId} has no step ${JSON.stringify(path)}.`);
  return step;
}
