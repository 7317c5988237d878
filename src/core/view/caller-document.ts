import type { StoredEvent } from "../journal/events.ts";
import { type OutputState, outputsOf, type RunState } from "../journal/state.ts";
import type { Progress, RunRow } from "../journal/store.ts";
import { cleanText } from "../kit/clean-text.ts";
import { traitsOf } from "../plan/index.ts";
import { type OpenDecision, openDecisions } from "../run/decisions.ts";
import { referenced, referencedValue } from "../run/resolve.ts";
import { endText, isDecided, type RunTextOptions, runText, stepText } from "./caller-texts.ts";
import type { CallerDocument, CallerEvent, CallerOutput, RunLine, StepProgress } from "./document-schema.ts";
import { documentedStatus, instant, returned, sharedOutput, sharedRun } from "./run-document.ts";
import { type RunView, runSummary } from "./run-view.ts";
import type { StepView } from "./step-view.ts";

const MOST_STEPS = 500;
const MOST_QUESTION = 500;

export interface StoredOutput {
  readonly step: string;
  readonly index: number;
  readonly sha256: string;
  readonly contentType: string;
}

export interface CallerOptions extends RunTextOptions {
  readonly isInterrupted: boolean;
  urlOf(output: StoredOutput): string;
  /** The name under which the caller knows the pipeline. Default: the pipeline's own name. */
  readonly pipeline?: string | undefined;
  /** Number of the run's newest event. Default: `state.seq`, which is too high after {@link RunView.foresee}. */
  readonly seq?: number | undefined;
}

type OutputOf = (step: string, output: OutputState) => readonly CallerOutput[];

/**
 * Returns the document that describes a run to its caller. It contains only codes, the run's files, and predefined
 * text.
 */
export function callerDocument(
  { state, steps }: Pick<RunView, "state" | "steps">,
  { isInterrupted, urlOf, pipeline, seq = state.seq, ...how }: CallerOptions,
): CallerDocument {
  const run = runSummary(state, { isInterrupted });
  const isGoingOn = isDecided(state);
  const outputOf: OutputOf = (step, output) => {
    if (output.copy === null) return [];
    const { sha256, contentType } = output.copy;
    const url = urlOf({ step, index: output.index, sha256, contentType });
    return [{ ...sharedOutput(state, step, output), content_type: contentType, url }];
  };
  return {
    ...sharedRun(state, run),
    seq,
    pipeline: pipeline ?? run.pipeline,
    status: isGoingOn ? "running" : run.status,
    message: runText(state, isInterrupted, how),
    pause: isGoingOn || state.pause === null ? null : { reason: state.pause.reason },
    step_count: steps.length,
    steps: steps.slice(0, MOST_STEPS).map((step) => callerStep(state, step, outputOf)),
    waiting: openDecisions(state).map((open) => waitingStep(state, open, outputOf)),
    // Uploads are left out, because the caller already has the files that it sent.
    outputs: returned(state, { output: (step, output) => outputOf(step, output)[0] ?? null, upload: () => null }),
  };
}

function callerStep(state: RunState, view: StepView, outputOf: OutputOf): CallerDocument["steps"][number] {
  const step = state.steps[view.path]!;
  const outputs = outputsOf(step).flatMap((output) => outputOf(view.path, output));
  const { path, kind, phase } = view;
  return { path, kind, status: documentedStatus(view), phase, reason: stepText(state, step), outputs };
}

function waitingStep(
  state: RunState,
  { step: path, message: question }: OpenDecision,
  outputOf: OutputOf,
): CallerDocument["waiting"][number] {
  const plan = state.planned.plan.steps.find((step) => step.path === path)!;
  const { standsFor, isChoice } = traitsOf(plan);
  const shown = standsFor.flatMap(({ $ref }) => ($ref.as === "value" ? [] : referenced(state, $ref)));
  return {
    step: path,
    message: question === null ? null : cleanText(question, MOST_QUESTION),
    outputs: shown.flatMap(({ step, output }) => outputOf(step, output)),
    values: standsFor.flatMap(({ $ref }) => ($ref.as === "value" ? [referencedValue(state, $ref) ?? null] : [])),
    choose: isChoice,
  };
}

export function runLine({ runId, lastSeq, pipeline, title, status, createdAt }: RunRow): RunLine {
  const created_at = instant(createdAt);
  return { id: runId, seq: lastSeq, pipeline, title, status: status as RunLine["status"], created_at };
}

export function stepProgress({ step, fraction, estimatedCompletionAt }: Progress): StepProgress {
  return { step, progress: fraction, estimated_completion_at: instant(estimatedCompletionAt) };
}

export function callerEvent({ seq, at, event }: StoredEvent): CallerEvent {
  const { type } = event;
  const step = "step" in event && typeof event.step === "string" ? { step: event.step } : {};
  const attempt = "attempt" in event && typeof event.attempt === "number" ? { attempt: event.attempt } : {};
  const status = type === "run.finished" || type === "step.finished" ? { status: event.status } : {};
  const why = type === "run.paused" ? event.reason : type === "step.finished" ? endText(event) : null;
  return { seq, at: instant(at), type, ...step, ...attempt, ...status, ...(why !== null && { reason: why }) };
}
