import { corrected, type Drafted, draft, outdatedInput, type Pipeline, redraft } from "../../define/index.ts";
import type { RunState } from "../../journal/state.ts";
import {
  diffPlans,
  expansionsIn,
  type Overlay,
  outerPaths,
  type PlanDiff,
  placesOf,
  plainJson,
  type SameText,
  type StepEdits,
  type TextChange,
  traitsOf,
  withEdits,
} from "../../plan/index.ts";
import type { ExpandingStep, Json, LocalFunction, Plan, PlanStep, Problem, Reference } from "../../plan/plan.ts";
import { readiness } from "../../run/readiness.ts";
import { type Code, codeOf } from "../effects/functions.ts";
import type { Planner } from "../price/planner.ts";
import { everywhere, textChanges } from "./edits.ts";

export type Replanning =
  | {
      readonly ok: true;
      readonly plan: Plan;
      readonly input: Json;
      readonly expanded: { readonly [step: string]: readonly Reference[] };
      readonly diff: PlanDiff;
      readonly code: Code;
      readonly edited: { readonly edits: StepEdits; readonly texts: readonly TextChange[] };
      readonly sameText: readonly SameText[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

type Grown =
  | Omit<Extract<Replanning, { readonly ok: true }>, "code" | "edited" | "sameText">
  | Extract<Replanning, { readonly ok: false }>;

export type ReplanInput = ({ readonly changes?: unknown } | { readonly whole: unknown }) & {
  readonly edits?: StepEdits;
  readonly everywhere?: boolean | undefined;
};

type Functions = Map<string, LocalFunction>;

export async function replanRun(
  state: RunState,
  pipeline: Pipeline,
  planner: Planner,
  input: ReplanInput = {},
): Promise<Replanning> {
  const { planned } = state;
  const { draft: drafted, problems } = draftedAgain(planned.input, pipeline, input);
  if (drafted === null) return { ok: false, problems };
  const code = codeOf(drafted);
  const files = planned.plan.steps.map((step) => traitsOf(step).file).filter((file) => file !== null);
  const changes = textChanges(state, input.edits ?? {});
  const edited =
    input.everywhere === true ? everywhere(state, input.edits ?? {}, changes) : { edits: input.edits ?? {}, texts: [] };
  const edits = withEdits(planned.edits ?? {}, edited.edits);
  const texts = [...(planned.texts ?? []), ...edited.texts];
  const { basis, make } = await planner.planFrom(drafted, planned.profile ?? null, {
    stored: files,
    filesFrom: planned.filesFrom,
    edits,
    texts,
  });
  if (drafted.problems.length === 0 && isAsPlanned(state) && basis() === planned.basis) {
    const same = { expanded: {}, diff: noDiff(planned.plan), edited, sameText: [] };
    return { ok: true, plan: planned.plan, input: drafted.parsedInput, ...same, code };
  }
  const outdated = "whole" in input ? [] : outdatedInput(pipeline, drafted.parsedInput);
  if (outdated.length > 0) return { ok: false, problems: outdated };
  const produced = await make();
  // The input may lack a field that its schema now requires.
  if (!produced.ok) return { ok: false, problems: [...draft(pipeline, planned.input).problems, ...produced.problems] };
  const functions: Functions = new Map(drafted.functions);
  const grown = await grow(
    new Growing(state, { plan: produced.plan, input: drafted.parsedInput, edits, texts }, functions),
    planner,
  );
  return grown.ok ? { ...grown, code, edited, sameText: placesOf(grown.plan.steps, changes) } : grown;
}

function isAsPlanned({ planned, steps }: RunState): boolean {
  return planned.basis !== undefined && Object.values(steps).every(({ expanded }) => expanded === null);
}

export function noDiff(plan: Plan): PlanDiff {
  const none = { changed: [], added: [], removed: [], renamed: [], stale: [] };
  return { unchanged: plan.steps.map(({ path }) => path), ...none };
}

function draftedAgain(before: Json, pipeline: Pipeline, input: ReplanInput): Drafted {
  if ("whole" in input) return draft(pipeline, input.whole);
  if (input.changes !== undefined) return corrected(pipeline, before, plainJson(input.changes));
  return { draft: redraft(pipeline, before), problems: [] };
}

interface Planned {
  readonly plan: Plan;
  readonly input: Json;
  readonly edits: StepEdits;
  readonly texts: readonly TextChange[];
}

class Growing {
  readonly state: RunState;
  readonly functions: Functions;
  readonly expanded: { [step: string]: readonly Reference[] } = {};
  before: Plan;
  after: Plan;

  readonly input: Json;
  readonly overlay: Overlay;

  constructor(state: RunState, { plan, input, edits, texts }: Planned, functions: Functions) {
    this.state = state;
    this.functions = functions;
    this.input = input;
    this.overlay = { profile: state.planned.profile, edits, texts };
    this.after = plan;
    this.before = { ...state.planned.plan, steps: this.ownedBy(null) };
  }

  /**
   * Returns the steps that an expansion created. If `expansion` is null, returns the steps that no expansion created.
   */
  ownedBy(expansion: string | null): readonly PlanStep[] {
    const { steps } = this.state.planned.plan;
    const expansions = expansionsIn(steps);
    return steps.filter(({ path }) => (outerPaths(path).find((outer) => expansions.has(outer)) ?? null) === expansion);
  }
}

async function grow(growing: Growing, planner: Planner): Promise<Grown> {
  const { state, functions } = growing;
  for (;;) {
    const diff = diffPlans(growing.before, growing.after);
    const next = nextExpansion(growing, diff);
    if (next === null) return { ok: true, plan: growing.after, input: growing.input, expanded: growing.expanded, diff };
    const { step, former, on } = next;
    const builder = functions.get(step.path);
    const ready = readiness(state, former, on);
    if (builder?.kind !== "expand" || ready.ready !== "yes") {
      const message = `the value that ${step.path} was planned with no longer exists; produce it again with --rerun`;
      return { ok: false, problems: [{ code: "value-gone", step: step.path, field: null, message }] };
    }
    const drafted = builder.expand(ready.input);
    const { maxUnquotedMicros } = state;
    const grown = await planner.expand(step, drafted, {
      plan: growing.after,
      overlay: growing.overlay,
      filesFrom: state.planned.filesFrom,
      maxUnquotedMicros,
    });
    if (!grown.ok) return grown;
    for (const [path, stepFunction] of drafted.functions) functions.set(path, stepFunction);
    const groups = { ...growing.after.groups, ...grown.groups };
    growing.after = { ...growing.after, steps: [...growing.after.steps, ...grown.steps], groups };
    growing.before = { ...growing.before, steps: [...growing.before.steps, ...growing.ownedBy(former.path)] };
    growing.expanded[step.path] = grown.returns;
  }
}

function nextExpansion(
  { state, before, after, expanded }: Growing,
  { stale, renamed }: PlanDiff,
): { readonly step: ExpandingStep; readonly former: PlanStep; readonly on: Reference } | null {
  const isStale = new Set(stale);
  const formerOf = new Map(renamed.map(({ from, to }) => [to, from]));
  for (const step of after.steps) {
    const now = traitsOf(step).expansion;
    if (now === null || isStale.has(step.path) || expanded[step.path] !== undefined) continue;
    const path = formerOf.get(step.path) ?? step.path;
    const former = before.steps.find((earlier) => earlier.path === path);
    const on = former === undefined ? undefined : traitsOf(former).expansion?.on;
    if (former && on && state.steps[path]?.expanded != null) return { step: now, former, on };
  }
  return null;
}
