import type { Expected } from "../kit/late-text.ts";
import {
  type ChatPhase,
  type JobPhase,
  type MoneyPhase,
  type OutputPhase,
  type RunStatus,
  runStates,
  type StepStatus,
  stepStates,
} from "../lifecycle/index.ts";
import type { Json, PlanStep, Reference } from "../plan/plan.ts";
import { stepNamed } from "../plan/plan-index.ts";
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

/** How much a model charged above its quotes. Without a quote, the allowed maximum is used instead. */
export interface Overcharge {
  /** The charge with the highest ratio to its quote; null if nothing was quoted. */
  worst: { readonly quotedMicros: number; readonly chargedMicros: number } | null;
  /** The highest charge above the allowed maximum, or above a quote of zero; null if there was none. */
  unquotedMicros: number | null;
  /** Number of bills above the quote or maximum. Bills that were later corrected downwards are not counted. */
  times: number;
  excessMicros: number;
  /**
   * True if the newest bill was above its quote. The model's jobs are then submitted one at a time until a bill
   * matches.
   */
  isAbove?: true;
  /** True if a bill matched a quote of zero. */
  isFree?: true;
}

export type { JobPhase, MoneyPhase, OutputPhase, RunStatus, StepStatus } from "../lifecycle/index.ts";

export interface OutputState extends OutputFacts {
  phase: OutputPhase;
  /** Null until the output is downloaded. */
  copy: StoredCopy | null;
  /** Why the last download failed. Absent if none failed, or if the output has been downloaded since then. */
  uncopied?: string;
}

/** A price, as in `job.quoted`. */
export interface Quoted {
  readonly costMicros: number | null;
  readonly basis: PriceBasis;
  readonly conditionalOn?: readonly string[];
}

/** How a request compares with its expected and allowed time. */
export interface Awaited {
  /** Set if the request takes longer than usual for its model. */
  slow?: Expected;
  /** When the request last exceeded its time limit (`within`), in epoch milliseconds. Absent if it never did. */
  overdueAt?: number;
  /** When someone last resumed the run to wait for the request again, in epoch milliseconds. */
  awaitedSince?: number;
}

export interface AttemptState extends Awaited {
  readonly n: number;
  phase: JobPhase;
  money: MoneyPhase;
  quote: Quoted | null;
  /** When the attempt was quoted, in epoch milliseconds; null before. */
  quotedAt: number | null;
  key: string | null;
  model: string | null;
  /** The resolved input that was sent or is about to be sent. */
  input: Json | null;
  holdMicros: number;
  /** The attempt's quote, or its maximum if it has no quote; null before the attempt is sent. */
  expectedMicros: number | null;
  costMicros: number | null;
  jobId: string | null;
  error: JournalError | null;
  /** Time of the first send, in epoch milliseconds on this machine's clock. */
  intendedAt: number | null;
  /**
   * Time of the last recorded send, in epoch milliseconds. While the outcome is unknown, more sends may follow within
   * {@link RESENT_EVERY_MS}.
   */
  lastSentAt: number | null;
  /** Earliest and latest possible time of a send on the service's clock (from Date headers); null before any send. */
  sentByService: { readonly from: number; readonly to: number } | null;
  /** Set while the attempt is unresolved. */
  unresolved: UnresolvedCause | null;
  /** The job that the service returned for the attempt. Set if the job may be another attempt's. */
  namedJobId?: string;
  /** True if a person named the attempt's job or stated that the attempt has no job. */
  isAdopted?: true;
  /** Set if a response about the job was incomplete or contradicted an earlier response. */
  doubt?: {
    /** Time of the first such response, in epoch milliseconds. */
    readonly since: number;
    readonly message: string;
    /** True if a person accepted the job's outputs as the attempt's result. */
    readonly isAccepted?: true;
    /**
     * For a request to a provider: how long polls have returned such responses, in milliseconds, and when the last poll
     * did.
     */
    readonly saidForMs?: number;
    readonly saidAt?: number;
    /** For a request to a provider: true if the responses say nothing about the work. */
    readonly isUnread?: true;
  };
  /** The provider that receives the request. Absent: the service. */
  provider?: string;
  /** The handle for polling the provider. Absent if the request cannot be polled. */
  operation?: Json;
  /** True if the cost is the held amount, because the provider reports no cost. */
  isUnconfirmed?: true;
  impossibleBill?: string;
  submittedAt: number | null;
  completedAt: number | null;
  outputs: OutputState[];
}

/** How long a provider's responses may contain nothing about the work before a person may decide. */
export const UNREAD_MS = 2 * 60_000;

/** Every unrecorded send follows a recorded send within this many milliseconds. */
export const RESENT_EVERY_MS = 60 * 60_000;

/** One send of a chat request. */
export interface ChatState extends Awaited {
  readonly n: number;
  phase: ChatPhase;
  readonly holdMicros: number;
  /** Null until the cost is known. The cost of an abandoned request stays unknown. */
  costMicros: number | null;
  /** True if the service responded without reporting the cost. */
  isUnconfirmed?: true;
  error: JournalError | null;
  jobId: string | null;
  /** The model's answer, if it did not match the schema. */
  answer: string | null;
  readonly sentAt: number;
  endedAt: number | null;
  /**
   * True if the run was resumed after the request was not answered. The request may then be repeated, and charged
   * again.
   */
  mayRepeat?: true;
}

export interface StepState {
  readonly path: string;
  status: StepStatus;
  reason: string | null;
  /** The failure message that the pipeline's code intended for callers. */
  forCallers?: string;
  /** True if the step was skipped because a `when` was not met. Its result is then not missing. */
  skippedByCondition: boolean;
  /** True if the step failed because the run ended while the request was in progress. The request is still polled. */
  isGivenUp?: true;
  /** True if the step was skipped because nothing that needs it could succeed. The step runs if that changes. */
  pruned: boolean;
  startedAt: number | null;
  finishedAt: number | null;
  attempts: AttemptState[];
  /** Number of attempts and chats that reruns of the step superseded. */
  superseded: number;
  /** True if the step runs again only when its inputs changed. */
  onlyIfInputsChanged: boolean;
  /** The stored copy of the file, for upload steps. */
  upload: StoredCopy | null;
  chats: ChatState[];
  /** Failed attempts of a task. */
  failures: { readonly at: number; readonly error: JournalError }[];
  /** A task's files, or results reused from an earlier run. */
  outputs: OutputState[] | null;
  /** The value that a chat or task returned; undefined before that. */
  value: Json | undefined;
  approval: { readonly approved: boolean; readonly note: string | null; readonly by?: DecidedBy } | null;
  comments?: readonly Comment[];
  /** The output that was approved or picked. */
  chosen: Chosen | null;
  /** The results that the expansion returned; null until the expansion is planned. */
  expanded: readonly Reference[] | null;
  reusedFrom: ReusedFrom | null;
  /** True if a rerun of the step was requested. The step then reuses no result of an earlier run. */
  rerunRequested: boolean;
}

export interface PauseState {
  readonly reason: PauseReason;
  readonly message: string;
  readonly fundingUrl: string | null;
  readonly requiredMicros: number | null;
  readonly balanceMicros: number | null;
  /** The option that raises the limit, if a cap across several runs was reached. */
  readonly flag: string | null;
  /** When the run may continue without a person, in epoch milliseconds; null: a person decides. */
  readonly resumeAt: number | null;
  /** Prices that became known after the quote was accepted. A budget of `requiredMicros` accepts them. Absent: none. */
  readonly asks?: readonly AskedPrice[];
  /** Id of the message that stopped the run. Absent: none. */
  readonly stopId?: number;
  /** The step that must run again because its output is lost. Absent: none. */
  readonly rerun?: string;
  /** Steps that a change of the pipeline replaces once their jobs have ended. Absent: none. */
  readonly replaced?: readonly string[];
  /** Set for `late`: the steps whose requests exceeded their time limit. The run continues once one of them ends. */
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
  /** True until the run ends or waits for a decision. Until then, an equal request is a repetition. */
  isOpen: boolean;
}

/** Computed from the run's events. Plain JSON, so that it can be stored as a snapshot. */
export interface RunState {
  readonly runId: string;
  seq: number;
  epoch: number;
  /**
   * When the current driver began to drive the run, in epoch milliseconds. All slices of one engine are one driver.
   * Null before the first driver.
   */
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
  /** Steps that are no longer in the plan, as they were last planned. Their results stay listed. */
  removedSteps: PlanStep[];
  /** Current names by former name. */
  formerNames: { readonly [name: string]: string };
  reruns: RerunRequest[];
  /** Sum of the quotes of all reruns, without the quote in `planned`; null if a rerun had no price. */
  rerunQuoteMicros: number | null;
  spentMicros: number;
  heldMicros: number;
  /** Holds of abandoned chats, which may have been charged. They count against the budget. */
  unconfirmedMicros: number;
  overcharges: { [model: string]: Overcharge };
  files: PlacedFile[];
  budgetMicros: number | null;
  maxUnquotedMicros: number | null;
  agreed: AgreedQuote | null;
  /** The percentage that was last reported for each budget or cap, by the limit's name. */
  spendingReached?: { readonly [limit: string]: number };
}

export function lastAttempt(step: StepState): AttemptState | null {
  return step.attempts.length > step.superseded ? step.attempts.at(-1)! : null;
}

/** A step has either attempts or chats. */
export function lastRequest(step: StepState): AttemptState | ChatState | null {
  return lastAttempt(step) ?? lastChat(step);
}

export function lastChat(step: StepState): ChatState | null {
  return step.chats.length > step.superseded ? step.chats.at(-1)! : null;
}

export function isStepFinal(status: StepStatus): boolean {
  return stepStates.ended.has(status);
}

export function isRunFinal(status: RunStatus): boolean {
  return runStates.ended.has(status);
}

/** Empty for an upload. */
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
    chats: [],
    failures: [],
    outputs: null,
    value: undefined,
    approval: null,
    chosen: null,
    expanded: null,
    reusedFrom: null,
    rerunRequested: false,
  };
}

export function planStep(state: RunState, path: string): PlanStep {
  const found = stepNamed(state.planned.plan, path);
  if (found === undefined) throw new Error(`No step ${JSON.stringify(path)} in the plan of run ${state.runId}.`);
  return found;
}

/** Excludes pauses, and times when no process drove the run. */
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

/** Excludes the time since the last event, because the driver may have been dead. Includes it if the run was parked. */
export function passClock(activeTime: ActiveTime, at: number, wasParked: boolean): void {
  if (activeTime.since === null || wasParked) return;
  stopClock(activeTime, activeTime.lastAt);
  activeTime.since = at;
}

/** Returns the active time up to the run's last event. */
export function activeMs({ activeTime: { ms, since, lastAt } }: { readonly activeTime: ActiveTime }): number {
  return ms + (since === null ? 0 : Math.max(0, lastAt - since));
}

/** Returns the time since which the run has been driven without a gap. */
export function drivenSince({ activeTime: { since, lastAt } }: { readonly activeTime: ActiveTime }): number {
  return since ?? lastAt;
}
