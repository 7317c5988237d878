import type { Expected } from "../kit/duration.ts";
import {
  type JobPhase,
  type MoneyPhase,
  type OutputPhase,
  type RunStatus,
  runStates,
  type StepStatus,
  stepStates,
} from "../lifecycle/index.ts";
import { type Json, type PlanStep, type Reference, stepNamed } from "../plan/plan.ts";
import type {
  AgreedQuote,
  AskedPrice,
  Chosen,
  Comment,
  DecidedBy,
  JournalError,
  OutputFacts,
  PauseReason,
  PriceBasis,
  ReusedFrom,
  RunPlanned,
  StoredCopy,
  UnresolvedCause,
} from "./events/facts.ts";

/** A model's charges above its quotes or, without a quote, above the allowed maximum. */
export interface Overcharge {
  /** The charge that exceeded its quote by the highest factor; null if there is none. */
  worst: { readonly quotedMicros: number; readonly chargedMicros: number } | null;
  /** The highest unexpected charge for a job that had no quote or was quoted as free; null if there is none. */
  unquotedMicros: number | null;
  times: number;
  excessMicros: number;
  /** True if the latest charge was higher than expected. */
  isAbove?: true;
  isFree?: true;
}

export type { JobPhase, MoneyPhase, OutputPhase, RunStatus, StepStatus } from "../lifecycle/index.ts";

export interface OutputState extends OutputFacts {
  phase: OutputPhase;
  copy: StoredCopy | null;
  uncopied?: string;
}

export interface Quoted {
  readonly costMicros: number | null;
  readonly basis: PriceBasis;
  readonly conditionalOn?: readonly string[];
}

export interface Awaited {
  /** The expected duration, if the request is taking much longer than that. */
  slow?: Expected;
  /** When the request last exceeded its time limit (`within`), in epoch milliseconds. */
  overdueAt?: number;
  /** When someone last resumed the run to wait longer for the request, in epoch milliseconds. */
  awaitedSince?: number;
}

/** One attempt at a step. Fields that do not apply to its kind are null. */
export interface AttemptState extends Awaited {
  /**
   * `job`: a request to the service or a provider. `chat`: a request to a chat model. `try`: a failed call of local
   * code.
   */
  readonly kind: "job" | "chat" | "try";
  readonly n: number;
  phase: JobPhase;
  money: MoneyPhase;
  quote: Quoted | null;
  quotedAt: number | null;
  key: string | null;
  model: string | null;
  /** The resolved input that was sent or is about to be sent. */
  input: Json | null;
  holdMicros: number;
  /** The attempt's quote, or its maximum cost if it has no quote. */
  expectedMicros: number | null;
  /** The attempt's cost. Null until it is known, and always null for an abandoned attempt. */
  costMicros: number | null;
  jobId: string | null;
  error: JournalError | null;
  /** Time of the first send, in epoch milliseconds on this machine's clock. */
  intendedAt: number | null;
  /**
   * Time of the last recorded send, in epoch milliseconds. More sends may follow within {@link RESENT_EVERY_MS},
   * without being recorded.
   */
  lastSentAt: number | null;
  /** Earliest and latest recorded times of sending, on the service's clock; null before the request is first sent. */
  sentByService: { readonly from: number; readonly to: number } | null;
  unresolved: UnresolvedCause | null;
  /** Id of the job that an inconclusive response named. The job may belong to another attempt. */
  namedJobId?: string;
  /** The answer of a chat whose step was reset, kept so that the answer can be restored. */
  value?: Json;
  /** True if a person specified which job belongs to the attempt, or confirmed that it has none. */
  isAdopted?: true;
  /** Doubt about the job, because a response was incomplete or contradicted an earlier one. */
  doubt?: {
    /** Time of the first incomplete or contradictory response, in epoch milliseconds. */
    readonly since: number;
    readonly message: string;
    /** True if a person accepted the job's outputs as the attempt's result. */
    readonly isAccepted?: true;
    /** How long the provider has been returning inconclusive responses, in milliseconds. */
    readonly saidForMs?: number;
    readonly saidAt?: number;
    /** True if the provider's responses say nothing about the job. */
    readonly isUnread?: true;
  };
  /** The provider that the request is sent to. Absent if it is sent to the service. */
  provider?: string;
  /** The handle for polling the provider, if the request can be polled. */
  operation?: Json;
  /** True if the response reports no cost. The cost is then estimated, or is the amount that was reserved. */
  isUnconfirmed?: true;
  /** A chat model's answer, if it did not match the schema. */
  answer?: string;
  /** True if the abandoned request may be sent again, even if it is then charged twice. */
  mayRepeat?: true;
  impossibleBill?: string;
  submittedAt: number | null;
  completedAt: number | null;
  outputs: OutputState[];
}

/** If a provider gives no information for this long, a person may decide the outcome. */
export const UNREAD_MS = 2 * 60_000;

/** How long a recorded request may be resent, in milliseconds. After that, another send must be recorded first. */
export const RESENT_EVERY_MS = 60 * 60_000;

export interface StepState {
  readonly path: string;
  status: StepStatus;
  reason: string | null;
  /** The failure message that the pipeline's author wrote for callers of the pipeline. */
  forCallers?: string;
  skippedByCondition: boolean;
  /** True if the run ended while the step's request was still in progress. */
  isGivenUp?: true;
  /** True if the step was skipped because no step that needs it can succeed. */
  pruned: boolean;
  startedAt: number | null;
  finishedAt: number | null;
  attempts: AttemptState[];
  /** Number of attempts superseded by reruns of the step. */
  superseded: number;
  onlyIfInputsChanged: boolean;
  upload: StoredCopy | null;
  /** A task's files, or outputs reused from an earlier run; otherwise null. A job's own outputs are in its attempts. */
  outputs: OutputState[] | null;
  /** The value that a chat or task returned; undefined if there is none yet. */
  value: Json | undefined;
  approval: { readonly approved: boolean; readonly note: string | null; readonly by?: DecidedBy } | null;
  comments?: readonly Comment[];
  chosen: Chosen | null;
  /** The results that the expansion returned; null until the expansion is planned. */
  expanded: readonly Reference[] | null;
  reusedFrom: ReusedFrom | null;
  /** True if a rerun was requested, so the step reuses no result of an earlier run. */
  rerunRequested: boolean;
}

export interface PauseState {
  readonly reason: PauseReason;
  readonly message: string;
  readonly fundingUrl: string | null;
  readonly requiredMicros: number | null;
  readonly balanceMicros: number | null;
  readonly flag: string | null;
  readonly limitFlags?: readonly string[];
  readonly resumeAt: number | null;
  readonly asks?: readonly AskedPrice[];
  readonly stopId?: number;
  readonly rerun?: string;
  readonly replaced?: readonly string[];
  readonly late?: readonly string[];
}

export interface ServiceOutage {
  readonly since: number;
  readonly reason: "unreachable" | "misdirected" | "media";
  readonly message: string;
}

export interface PlacedFile {
  readonly name: string;
  readonly step: string;
  readonly index: number;
  readonly file: string;
  readonly manifest: string | null;
}

export interface RerunRequest {
  readonly requestId: string;
  readonly steps: readonly string[];
  readonly requestedAt: number;
  /** Whether an identical request counts as a repeat of this one. False once the run ends or waits for approval. */
  isOpen: boolean;
}

/** A run's state, computed from its events. It is plain JSON. */
export interface RunState {
  readonly runId: string;
  seq: number;
  epoch: number;
  /** When the current process took over the run, in epoch milliseconds. */
  drivenSince: number | null;
  planned: RunPlanned;
  status: RunStatus;
  message: string | null;
  pause: PauseState | null;
  outage: ServiceOutage | null;
  createdAt: number;
  startedAt: number | null;
  finishedAt: number | null;
  activeTime: ActiveTime;
  steps: { [path: string]: StepState };
  losses: number;
  /** Steps that are no longer in the plan, as they were last planned. */
  removedSteps: PlanStep[];
  /** Current names of renamed steps, by former name. */
  formerNames: { readonly [name: string]: string };
  reruns: RerunRequest[];
  /** Sum of the quotes of all reruns; null if a rerun had no price. */
  rerunQuoteMicros: number | null;
  spentMicros: number;
  heldMicros: number;
  /** Money reserved for abandoned chat requests, which may have been charged. */
  unconfirmedMicros: number;
  overcharges: { [model: string]: Overcharge };
  files: PlacedFile[];
  budgetMicros: number | null;
  maxUnquotedMicros: number | null;
  agreed: AgreedQuote | null;
  /** The usage last reported for each budget or cap, in percent, keyed by the name of the limit. */
  spendingReached?: { readonly [limit: string]: number };
}

export function lastAttempt(step: StepState): AttemptState | null {
  return step.attempts.length > step.superseded ? step.attempts.at(-1)! : null;
}

export function attemptOf(
  { steps }: Pick<RunState, "steps">,
  { step, attempt: n }: { readonly step: string; readonly attempt: number },
): AttemptState {
  return steps[step]!.attempts[n - 1]!;
}

/** Returns the attempts since the last rerun of the step. */
export function ownAttempts({ attempts, superseded }: StepState): readonly AttemptState[] {
  return superseded === 0 ? attempts : attempts.slice(superseded);
}

export function costOf(attempts: readonly AttemptState[]): number {
  return attempts.reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0);
}

/** Returns the step's total cost. For attempts whose cost is unknown, counts the reserved amount. */
export function committedOn({ attempts }: StepState): number {
  return attempts.reduce((sum, { money, holdMicros, costMicros }) => {
    return sum + (money === "held" || money === "unconfirmed" ? holdMicros : (costMicros ?? 0));
  }, 0);
}

export function wasSent({ intendedAt }: AttemptState): boolean {
  return intendedAt !== null;
}

export function thrownBy(step: StepState): JournalError | null {
  const attempt = lastAttempt(step);
  return attempt?.kind === "try" ? attempt.error : null;
}

export function isStepFinal(status: StepStatus): boolean {
  return stepStates.ended.has(status);
}

/**
 * Returns true if a run with this status has ended. Accepts any string, because the status in a list of runs can also
 * be `interrupted`.
 */
export function isRunFinal(status: string): boolean {
  return (runStates.ended as ReadonlySet<string>).has(status);
}

export function outputsOf(step: StepState): readonly OutputState[] {
  return step.outputs ?? lastAttempt(step)?.outputs ?? [];
}

export function newStep(path: string): StepState {
  return {
    path,
    status: "waiting",
    reason: null,
    skippedByCondition: false,
    pruned: false,
    startedAt: null,
    finishedAt: null,
    attempts: [],
    superseded: 0,
    onlyIfInputsChanged: false,
    upload: null,
    outputs: null,
    value: undefined,
    approval: null,
    chosen: null,
    expanded: null,
    reusedFrom: null,
    rerunRequested: false,
  };
}

export function newAttempt(n: number, kind: AttemptState["kind"]): AttemptState {
  return {
    kind,
    n,
    phase: "planned",
    money: "none",
    quote: null,
    quotedAt: null,
    key: null,
    model: null,
    input: null,
    holdMicros: 0,
    expectedMicros: null,
    costMicros: null,
    jobId: null,
    error: null,
    intendedAt: null,
    lastSentAt: null,
    sentByService: null,
    unresolved: null,
    submittedAt: null,
    completedAt: null,
    outputs: [],
  };
}

export function planStep(state: RunState, path: string): PlanStep {
  const found = stepNamed(state.planned.plan, path);
  if (found === undefined) throw new Error(`No step ${JSON.stringify(path)} in the plan of run ${state.runId}.`);
  return found;
}

/** How long the run was active. Excludes pauses and periods when no process was executing the run. */
interface ActiveTime {
  ms: number;
  since: number | null;
  lastAt: number;
}

export function startClock(activeTime: ActiveTime, at: number): void {
  activeTime.since ??= at;
}

export function stopClock(activeTime: ActiveTime, at: number): void {
  if (activeTime.since !== null) activeTime.ms += Math.max(0, at - activeTime.since);
  activeTime.since = null;
}

/**
 * Continues the active-time clock when a process takes over the run. The time since the last event does not count as
 * active.
 */
export function passClock(activeTime: ActiveTime, at: number, wasParked: boolean): void {
  if (activeTime.since === null || wasParked) return;
  stopClock(activeTime, activeTime.lastAt);
  activeTime.since = at;
}

export function activeMs({ activeTime: { ms, since, lastAt } }: { readonly activeTime: ActiveTime }): number {
  return ms + (since === null ? 0 : Math.max(0, lastAt - since));
}

export function drivenSince({ activeTime: { since, lastAt } }: { readonly activeTime: ActiveTime }): number {
  return since ?? lastAt;
}
