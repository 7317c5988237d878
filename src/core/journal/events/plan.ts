import { editedFields, type StepEdits, traitsOf, withEdits, withSeeds } from "../../plan/index.ts";
import { type Json, type Plan, type PlanStep, type Reference, stepNamed } from "../../plan/plan.ts";
import {
  type AttemptState,
  isStepFinal,
  newStep,
  type OutputPhase,
  type RunState,
  type StepState,
  wasSent,
} from "../state.ts";
import type { ExpandPlanned, OutputFacts, ReusedFrom, RunPlanned, RunReplanned, StoredCopy } from "./facts.ts";
import { counted, detail, type EventTable, type Fold, ignoredBy, line } from "./spec.ts";

type ReusedOutput = OutputFacts & { readonly copy: StoredCopy | null };

/** Events that change which steps a run has, or which results are valid. */
export type PlanEvent =
  | RunPlanned
  | RunReplanned
  | ExpandPlanned
  /** A rerun was requested. A `step.reset` event follows for each step that runs again. */
  | {
      readonly type: "rerun.requested";
      readonly requestId: string;
      readonly steps: readonly string[];
      /** The reason for the rerun. */
      readonly note?: string;
      /** New seeds for jobs, by step. */
      readonly seeds?: { readonly [step: string]: number };
      /** Price of the steps that run again; null if a step has no price. */
      readonly quoteMicros?: number | null;
    }
  /** A finished step runs again. Its earlier results are kept. */
  | {
      readonly type: "step.reset";
      readonly step: string;
      readonly why: string;
      /** True if the step runs only when its inputs have changed. Otherwise, its earlier result is restored. */
      readonly onlyIfInputsChanged?: true;
      /** True if the step is an expansion and keeps the steps that it added to the plan. */
      readonly keepsExpansion?: true;
    }
  /** The steps that this step uses were rerun with identical results, so the step's earlier result is valid again. */
  | { readonly type: "step.restored"; readonly step: string; readonly attempt: number }
  /** The result of an identical earlier request is reused, so this step submits nothing. */
  | {
      readonly type: "step.reused";
      readonly step: string;
      readonly from: ReusedFrom;
      readonly outputs: readonly ReusedOutput[];
      readonly value: Json;
    };

export const planEvents: EventTable<PlanEvent> = {
  "run.planned": {
    apply: (fold) => {
      throw fold.illegal(fold.state.status);
    },
    changes: "plan",
    media: ({ plan }) => uploadsOf(plan.steps),
    timeline: (timeline, { plan }) => timeline.plan(plan.steps),
    line: ({ plan }) => detail(`planned ${counted(plan.steps.length, "step")} of ${plan.pipeline}`),
    ...ignoredBy("ledger", "incident", "notice"),
  },
  "run.replanned": {
    apply: (fold, event) => {
      addQuote(fold.state, event);
      replan(fold.state, event, (step, type) => fold.moveStep(step, type));
    },
    changes: "plan",
    media: ({ plan }) => uploadsOf(plan.steps),
    timeline: (timeline, { plan }) => timeline.plan(plan.steps),
    line: ({ plan, edited }) =>
      edited === undefined
        ? line(`applied changed code, ${counted(plan.steps.length, "step")}`)
        : line(`edited ${editedText(edited.steps)}${edited.note === null ? "" : `: ${edited.note}`}`),
    incident: ({ edited }) =>
      edited === undefined
        ? { what: "applied changed code", why: "" }
        : { what: `edited ${editedText(edited.steps)}`, why: edited.note ?? "" },
    ...ignoredBy("ledger", "notice"),
  },
  "expand.planned": {
    apply: (fold, event) => {
      fold.step(event.step);
      enterExpansion(fold.state, event, (step, type) => fold.moveStep(step, type));
    },
    changes: "plan",
    media: ({ steps }) => uploadsOf(steps),
    timeline: (timeline, { steps }) => timeline.plan(steps),
    line: ({ steps }) => line(`planned ${counted(steps.length, "step")}`),
    ...ignoredBy("ledger", "incident", "notice"),
  },
  "rerun.requested": {
    apply: (fold, { requestId, steps, seeds, quoteMicros }) => {
      const { reruns } = fold.state;
      if (reruns.some((known) => known.requestId === requestId)) throw fold.illegal(`(rerun ${requestId})`);
      reruns.push({ requestId, steps, requestedAt: fold.at, isOpen: true });
      if (quoteMicros !== undefined) addQuote(fold.state, { quoteMicros });
      if (seeds !== undefined) reseed(fold.state, seeds);
    },
    changes: "plan",
    line: ({ steps, note, seeds }) =>
      line(`rerun requested: ${steps.join(", ")}${note === undefined ? "" : `: ${note}`}${seedsText(seeds)}`),
    incident: ({ steps, note, seeds }) =>
      note === undefined
        ? { what: "rerun requested", why: `${steps.join(", ")}${seedsText(seeds)}` }
        : { what: `rerun requested for ${steps.join(", ")}`, why: `${note}${seedsText(seeds)}` },
    ...ignoredBy("ledger", "media", "timeline", "notice"),
  },
  "step.reset": {
    apply: (fold, { step: path, onlyIfInputsChanged = false, keepsExpansion = false }) => {
      const { state } = fold;
      const move = (step: StepState, type: string) => fold.moveStep(step, type);
      const step = fold.step(path);
      reset(state, step, move, {
        onlyIfInputsChanged: onlyIfInputsChanged,
        expanded: keepsExpansion ? step.expanded : null,
      });
      if (!keepsExpansion && isExpansion(state, path)) leaveExpansion(state, path, move);
    },
    changes: "plan",
    timeline: (timeline, { step }) => timeline.close(step),
    line: ({ why }) => line(`runs again: ${why}`),
    incident: ({ why }) => ({ what: "rerun", why }),
    ...ignoredBy("ledger", "media", "notice"),
  },
  "step.restored": {
    apply: (fold, event) => restore(fold, fold.step(event.step), fold.attempt(event)),
    changes: "step",
    line: () => line("the inputs are unchanged after the rerun; the earlier result is kept"),
    incident: () => ({
      what: "earlier result restored",
      why: "The steps that provide this step's inputs were rerun, with identical results.",
    }),
    ...ignoredBy("ledger", "media", "timeline", "notice"),
  },
  "step.reused": {
    apply: (fold, { step: path, outputs, value, from }) => {
      const step = fold.step(path);
      step.outputs = outputs.map((output) => ({ ...output, phase: reusedPhase(output) }));
      step.value = value;
      step.reusedFrom = from;
    },
    changes: "step",
    media: ({ outputs }) => outputs.flatMap(({ copy }) => (copy === null ? [] : [copy.sha256])),
    timeline: (timeline, { step }) => timeline.close(step),
    line: ({ from }) => line(`result reused from run ${from.runId}`),
    incident: ({ from }) => ({
      what: "result reused",
      why: `Step ${from.step} of run ${from.runId} had an identical request.`,
    }),
    ...ignoredBy("ledger", "notice"),
  },
};

function editedText(steps: StepEdits): string {
  const fields = Object.keys(steps).map((path) => `${path} ${editedFields(steps, path).join(", ")}`);
  return fields.join("; ");
}

function seedsText(seeds: { readonly [step: string]: number } | undefined): string {
  const all = Object.entries(seeds ?? {}).map(([step, seed]) => `${step} ${seed}`);
  return all.length === 0 ? "" : `; new ${all.length === 1 ? "seed" : "seeds"}: ${all.join(", ")}`;
}

function uploadsOf(steps: readonly PlanStep[]): readonly string[] {
  return steps.flatMap((step) => traitsOf(step).file?.sha256 ?? []);
}

function restore(fold: Fold, step: StepState, attempt: AttemptState): void {
  const later = step.attempts.slice(attempt.n);
  if (attempt.n !== step.superseded || later.some(wasSent)) throw fold.illegal(`(attempt ${attempt.n})`);
  step.attempts = step.attempts.slice(0, attempt.n);
  step.superseded = attempt.n - 1;
  if (attempt.value !== undefined) step.value = attempt.value;
  delete attempt.value;
}

function reusedPhase(output: ReusedOutput): OutputPhase {
  if (output.voiceId !== null) return "available";
  if (output.assetId === null) return "archived";
  return output.copy === null ? "available" : "downloaded";
}

function addQuote(state: RunState, { quoteMicros }: Pick<RunReplanned, "quoteMicros">): void {
  const before = state.rerunQuoteMicros;
  state.rerunQuoteMicros = before === null || quoteMicros === null ? null : before + quoteMicros;
}

type Move = (step: StepState, type: string) => void;

/** Replaces the plan. Removed steps stay listed, and are cancelled if they have not ended. */
function replan(state: RunState, event: RunReplanned, move: Move): void {
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

function reseed(state: RunState, seeds: { readonly [step: string]: number }): void {
  const { basis: _, ...planned } = state.planned;
  const edited = Object.entries(seeds).map(([path, seed]) => [path, { set: { seed }, without: [] }] as const);
  const edits = withEdits(planned.edits ?? {}, Object.fromEntries(edited));
  state.planned = { ...planned, plan: withSeeds(planned.plan, seeds), edits };
}

function leaveExpansion(state: RunState, path: string, move: Move): void {
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

/** Adds an expansion's steps. A step keeps its earlier result if its request and inputs are unchanged. */
function enterExpansion(state: RunState, event: ExpandPlanned, move: Move): void {
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

/** Resets a step so that it runs again. Keeps its attempts up to the last one that was sent. */
function reset(state: RunState, step: StepState, move: Move, more: Partial<StepState> = {}): void {
  move(step, "step.reset");
  const { path } = step;
  const attempts = step.attempts.slice(0, step.attempts.findLastIndex(wasSent) + 1);
  const superseded = attempts.length;
  const last = attempts.at(-1);
  if (last?.kind === "chat" && last.phase === "completed" && step.value !== undefined) last.value = step.value;
  // A requested rerun that has not happened yet stays requested.
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

function isExpansion(state: RunState, path: string): boolean {
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
