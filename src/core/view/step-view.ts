import type { Chosen, JournalError, PriceBasis, ReusedFrom } from "../journal/events.ts";
import {
  type AttemptState,
  type JobPhase,
  lastAttempt,
  type MoneyPhase,
  newStep,
  type OutputState,
  outputsOf,
  type RunState,
  type StepState,
  type StepStatus,
} from "../journal/state.ts";
import type { Late } from "../kit/duration.ts";
import { stepStates } from "../lifecycle/index.ts";
import { type Json, type PlanStep, traitsOf } from "../plan/plan.ts";
import { runKind } from "../run/kinds/index.ts";
import type { StepActivity } from "../run/kinds/kind.ts";
import { isOverdue, requestInFlight } from "../run/open-jobs.ts";
import { uncopiedOf } from "../run/retention.ts";
import { isForPerson } from "../run/waiting.ts";

export type StepPhase =
  | Exclude<StepStatus, "running">
  | StepActivity
  | "submitting"
  | "queued"
  | "rendering"
  | "downloading";

/** A submission of a job, a request to a chat model, or a failed attempt at a task. */
export interface AttemptView {
  readonly kind: "job" | "chat" | "try";
  readonly n: number;
  readonly phase: JobPhase;
  readonly model: string | null;
  readonly jobId: string | null;
  /** The input that was sent, with uploads as hashes; null for chats and tasks. */
  readonly input: Json | null;
  readonly quote: { readonly costMicros: number | null; readonly basis: PriceBasis } | null;
  readonly holdMicros: number;
  readonly costMicros: number | null;
  /**
   * Whether the attempt's cost is held, settled or released. `unconfirmed` means that it is unknown whether anything
   * was charged, or how much.
   */
  readonly money: MoneyPhase;
  readonly error: JournalError | null;
  readonly sentAt: number | null;
  readonly submittedAt: number | null;
  readonly endedAt: number | null;
  readonly isSuperseded: boolean;
  readonly outputs: readonly OutputState[];
}

/** A step for display. Amounts are in micro-dollars, and times are in epoch milliseconds. */
export interface StepView {
  readonly plan: PlanStep;
  readonly path: string;
  readonly kind: PlanStep["kind"];
  readonly model: string | null;
  /** The step's status. It stays `running` until the step's files are downloaded. */
  readonly status: StepStatus;
  readonly phase: StepPhase;
  readonly reason: string | null;
  readonly late: Late | null;
  readonly error: JournalError | null;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  /** The latest attempt since the last rerun; null if there is none. It may not have been sent yet. */
  readonly current: AttemptView | null;
  /** Attempts that were sent or have failed. */
  readonly attempts: readonly AttemptView[];
  readonly quote: AttemptView["quote"];
  /** Total cost of the attempts, in micro-dollars; null while no cost is known. */
  readonly costMicros: number | null;
  /** Money reserved for attempts that have not been billed yet. */
  readonly heldMicros: number;
  readonly outputs: readonly OutputState[];
  readonly value: Json;
  readonly chosen: Chosen | null;
  readonly approval: StepState["approval"];
  readonly reusedFrom: ReusedFrom | null;
}

export function plannedStep(plan: PlanStep): StepView {
  return stepView(plan, newStep(plan.path));
}

export function stepView(plan: PlanStep, step: StepState): StepView {
  const model = "model" in plan ? plan.model : null;
  const all = step.attempts.map((attempt) => attemptView(attempt, step));
  const attempts = all.filter(({ sentAt, error }) => sentAt !== null || error !== null);
  const current = all.at(-1)?.isSuperseded === false ? all.at(-1)! : null;
  const uncopied = uncopiedOf(plan, step);
  const isWhole = uncopied.length === 0 || !stepStates.withResult.has(step.status);
  const costs = attempts.map(({ costMicros }) => costMicros).filter((cost) => cost !== null);
  return {
    plan,
    path: plan.path,
    kind: plan.kind,
    model,
    status: isWhole ? step.status : "running",
    phase: isWhole ? phaseOf(plan, step.status, current) : "downloading",
    reason: step.reason ?? unread(step) ?? uncopied.flatMap(notHere)[0] ?? null,
    late: lateOf(plan, step),
    error: current?.error ?? null,
    startedAt: step.startedAt,
    finishedAt: isWhole ? step.finishedAt : null,
    current,
    attempts,
    quote: current?.quote ?? null,
    costMicros: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0),
    heldMicros: attempts.reduce((sum, { money, holdMicros }) => sum + (money === "held" ? holdMicros : 0), 0),
    outputs: outputsOf(step),
    value: step.value ?? null,
    chosen: step.chosen,
    approval: step.approval,
    reusedFrom: step.reusedFrom,
  };
}

function lateOf(plan: PlanStep, step: StepState): Late | null {
  const open = requestInFlight(step);
  if (open === null) return null;
  const { slow: expected = null, jobId } = open.request;
  const withinMs = isOverdue(step) && "policy" in plan ? (plan.policy.withinMs ?? null) : null;
  return expected === null && withinMs === null ? null : { since: open.since, expected, withinMs, jobId };
}

function unread(step: StepState): string | null {
  const attempt = lastAttempt(step);
  return attempt !== null && isForPerson(attempt) ? (attempt.doubt?.message ?? null) : null;
}

function notHere({ index, uncopied }: OutputState): readonly string[] {
  return uncopied === undefined ? [] : [`output ${index} was not downloaded: ${uncopied}`];
}

function attemptView(attempt: AttemptState, { superseded }: StepState): AttemptView {
  const { kind, n, phase, model, jobId, input, quote, holdMicros, costMicros, error } = attempt;
  const money = attempt.isUnconfirmed === true ? "unconfirmed" : attempt.money;
  const { intendedAt, submittedAt, completedAt, outputs } = attempt;
  return {
    kind,
    n,
    phase,
    model,
    jobId,
    input,
    quote,
    holdMicros,
    costMicros,
    money,
    error,
    submittedAt,
    outputs,
    sentAt: intendedAt,
    endedAt: completedAt,
    isSuperseded: n <= superseded,
  };
}

const jobPhases = {
  planned: "pricing",
  priced: "pricing",
  "submitting.sent": "submitting",
  "submitting.unknown": "submitting",
  inQueue: "queued",
  inProgress: "rendering",
  completed: "downloading",
  // After these phases, another attempt follows or the step ends.
  failed: "pricing",
  refused: "pricing",
  lost: "pricing",
  abandoned: "pricing",
  unresolved: "unresolved",
} as const satisfies Record<JobPhase, StepPhase>;

function phaseOf({ kind }: PlanStep, status: StepStatus, current: AttemptView | null): StepPhase {
  if (status !== "running") return status;
  if (current?.kind !== "job") return runKind(kind).activity;
  // The submission was withdrawn, so the step waits for funds, the service or an upload.
  if (current.sentAt !== null && current.phase === "priced") return "waiting";
  return jobPhases[current.phase];
}

/**
 * Returns the status of an output. It is `EXPIRED` only for outputs of jobs, because others were never on the service.
 */
export function outputStatus({ plan }: Pick<StepView, "plan">, { phase, status }: OutputState): OutputState["status"] {
  return traitsOf(plan).submits !== null && (phase === "expired" || phase === "archived") ? "EXPIRED" : status;
}

interface PlacedIndex {
  readonly byOutput: Map<string, RunState["files"][number]>;
  read: number;
}

const placedIndexes = new WeakMap<RunState["files"], PlacedIndex>();

export function placedFile({ files }: RunState, step: string, index: number): RunState["files"][number] | undefined {
  const known = placedIndexes.get(files) ?? { byOutput: new Map(), read: 0 };
  placedIndexes.set(files, known);
  for (; known.read < files.length; known.read += 1) {
    const file = files[known.read]!;
    const key = `${file.index} ${file.step}`;
    if (!known.byOutput.has(key)) known.byOutput.set(key, file);
  }
  return known.byOutput.get(`${index} ${step}`);
}
