import { editedFields, type StepEdits, traitsOf } from "../../plan/index.ts";
import type { Json, PlanStep } from "../../plan/plan.ts";
import { enterExpansion, isExpansion, leaveExpansion, replan, reseed, reset } from "../replan.ts";
import { type AttemptState, type OutputPhase, type RunState, type StepState, wasSent } from "../state.ts";
import type { ExpandPlanned, OutputFacts, ReusedFrom, RunPlanned, RunReplanned, StoredCopy } from "./facts.ts";
import type { Fold } from "./fold-context.ts";
import { counted, detail, type EventTable, ignoredBy, line } from "./spec.ts";

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
  /** A finished step runs again. Its earlier results stay listed. */
  | {
      readonly type: "step.reset";
      readonly step: string;
      readonly why: string;
      /** True if the step's result is restored when its inputs turn out identical. */
      readonly onlyIfInputsChanged?: true;
      /** True for an expansion whose steps remain as planned. */
      readonly keepsExpansion?: true;
    }
  /** The step's inputs were rerun and turned out identical, so its earlier result is valid again. */
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
    // Resetting an expansion removes its steps.
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
    incident: () => ({ what: "earlier result restored", why: "The step's inputs were rerun, with identical results." }),
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
