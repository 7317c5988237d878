import type { Json, PlanStep } from "../plan/plan.ts";
import type { JournalError, OutputFacts, PauseReason, PriceBasis, RunEvent } from "./events.ts";

export type RunPlanned = RunEvent & { readonly type: "run.planned" };
export type RunStatus = "planned" | "running" | "paused" | "succeeded" | "partial" | "failed" | "cancelled";
export type StepStatus =
  | "waiting"
  | "running"
  | "unresolved"
  | "succeeded"
  | "partial"
  | "failed"
  | "skipped"
  | "cancelled";
export type JobPhase =
  | "planned"
  | "priced"
  | "submitting.sent"
  | "submitting.unknown"
  | "inQueue"
  | "inProgress"
  | "completed"
  | "failed"
  | "refused"
  | "unresolved"
  | "lost";
export type MoneyPhase = "none" | "held" | "settled" | "released";
export type OutputPhase = "pending" | "available" | "downloaded" | "kept" | "expired" | "failed";

/** Bytes in the media store. */
export interface StoredBytes {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly contentType: string;
}

export interface OutputState extends OutputFacts {
  phase: OutputPhase;
  /** Our own copy, once downloaded. */
  copy: StoredBytes | null;
}

export interface AttemptState {
  readonly n: number;
  phase: JobPhase;
  money: MoneyPhase;
  quote: { readonly costMicros: number | null; readonly basis: PriceBasis } | null;
  key: string | null;
  model: string | null;
  /** The resolved input that was (or is about to be) sent. */
  input: Json | null;
  holdMicros: number;
  costMicros: number | null;
  jobId: string | null;
  error: JournalError | null;
  intendedAt: number | null;
  submittedAt: number | null;
  completedAt: number | null;
  outputs: OutputState[];
}

export interface StepState {
  readonly path: string;
  status: StepStatus;
  reason: string | null;
  startedAt: number | null;
  finishedAt: number | null;
  attempts: AttemptState[];
  /** The file's bytes, for upload steps. */
  upload: StoredBytes | null;
}

export interface PauseState {
  readonly reason: PauseReason;
  readonly message: string;
  readonly fundingUrl: string | null;
  readonly requiredMicros: number | null;
  readonly balanceMicros: number | null;
}

export interface PlacedFile {
  readonly name: string;
  readonly step: string;
  readonly index: number;
  readonly file: string;
}

/** What a run's events add up to. Plain JSON, so that it can be stored as a snapshot. */
export interface RunState {
  readonly runId: string;
  seq: number;
  epoch: number;
  readonly planned: RunPlanned;
  status: RunStatus;
  message: string | null;
  pause: PauseState | null;
  createdAt: number;
  startedAt: number | null;
  finishedAt: number | null;
  steps: { [path: string]: StepState };
  /** Sum of what jobs really cost, micro-dollars. */
  spentMicros: number;
  /** Sum of holds not yet settled or released. */
  heldMicros: number;
  files: PlacedFile[];
  /** As planned, or as set since. */
  budgetMicros: number | null;
  maxUnquotedMicros: number | null;
}

/** The attempt that counts: the newest, or null before the first. */
export function lastAttempt(step: StepState): AttemptState | null {
  return step.attempts.at(-1) ?? null;
}

export function isStepFinal(status: StepStatus): boolean {
  return status !== "waiting" && status !== "running" && status !== "unresolved";
}

export function isRunFinal(status: RunStatus): boolean {
  return status !== "planned" && status !== "running" && status !== "paused";
}

/** Outputs of a finished step in order; an upload has none. */
export function outputsOf(step: StepState): readonly OutputState[] {
  return lastAttempt(step)?.outputs ?? [];
}

export function planStep(state: RunState, path: string): PlanStep {
  const found = state.planned.plan.steps.find((step) => step.path === path);
  if (found === undefined) throw new Error(`No step ${JSON.stringify(path)} in the plan of run ${state.runId}.`);
  return found;
}
