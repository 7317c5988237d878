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
import type { Overcharge } from "./overcharge-facts.ts";

export type { JobPhase, MoneyPhase, OutputPhase, RunStatus, StepStatus } from "../lifecycle/index.ts";
export type { Overcharge } from "./overcharge-facts.ts";

export interface OutputState extends OutputFacts {
  phase: OutputPhase;
  /** Our own copy, once downloaded. */
  copy: StoredCopy | null;
  /** Why fetching it failed the last time; absent once it is here, or where nothing went wrong. */
  uncopied?: string;
}

/** A price, as `job.quoted` says. */
export interface Quoted {
  readonly costMicros: number | null;
  readonly basis: PriceBasis;
  readonly conditionalOn?: readonly string[];
}

/** How long a request is under way, as far as something is to be said of that. */
export interface Awaited {
  /** It takes longer than its model usually does; absent: that was not said. */
  slow?: Expected;
  /** When its `within` was over, the last time, epoch milliseconds; absent: it never was. */
  overdueAt?: number;
  /** Somebody resumed the run since then, to wait once more; when, epoch milliseconds. */
  awaitedSince?: number;
}

export interface AttemptState extends Awaited {
  readonly n: number;
  phase: JobPhase;
  money: MoneyPhase;
  quote: Quoted | null;
  /** When it was quoted, epoch milliseconds; null before. */
  quotedAt: number | null;
  key: string | null;
  model: string | null;
  /** The resolved input that was (or is about to be) sent. */
  input: Json | null;
  holdMicros: number;
  /** What it was quoted, or may cost at most without a quote; null before it is sent. */
  expectedMicros: number | null;
  costMicros: number | null;
  jobId: string | null;
  error: JournalError | null;
  /** First send, epoch milliseconds of this machine's clock. */
  intendedAt: number | null;
  /**
   * Newest send that the journal tells of. While the outcome is open, sends of up to {@link RESENT_EVERY_MS} after it may
   * have followed.
   */
  lastSentAt: number | null;
  /** The earliest and the latest send by the service's clock, as far as its Date headers were known; null before any. */
  sentByService: { readonly from: number; readonly to: number } | null;
  /** Set while it is unresolved. */
  unresolved: UnresolvedCause | null;
  /** The job that its send was answered with, where that cannot be taken as its own unseen. */
  namedJobId?: string;
  /** A person said which job it is, or that it made none. */
  isAdopted?: true;
  /** Absent while no answer about the job lacked something, or contradicted an earlier one. */
  doubt?: {
    /** Of the first such answer, epoch milliseconds. */
    readonly since: number;
    /** Of the last one. */
    readonly message: string;
    /** A person takes what the job has as its result. */
    readonly isAccepted?: true;
    /** Of an operation: so long it has been said while it was asked for, milliseconds, and when it was said last. */
    readonly saidForMs?: number;
    readonly saidAt?: number;
    /** Of an operation: its provider was asked, and nothing that came was a word of its work. */
    readonly isUnread?: true;
  };
  /** The provider that it is sent to; absent: the service. */
  provider?: string;
  /** By which the provider is asked for its outcome; absent: by nothing. */
  operation?: Json;
  /** Its cost is what was held: its provider does not say what it charged. */
  isUnconfirmed?: true;
  /** What the service says of its cost, where that cannot be. */
  impossibleBill?: string;
  submittedAt: number | null;
  completedAt: number | null;
  outputs: OutputState[];
}

/** A provider is asked for so long in vain before a person, too, may say what became of its work, milliseconds. */
export const UNREAD_MS = 2 * 60_000;

/** Every re-send lies within so many milliseconds of one that the journal tells of. */
export const RESENT_EVERY_MS = 60 * 60_000;

/** One send of a chat request. */
export interface ChatState extends Awaited {
  readonly n: number;
  phase: ChatPhase;
  readonly holdMicros: number;
  /** Null until it is known; of an abandoned one it never is. */
  costMicros: number | null;
  /** Set where the service did not say what an answer cost. */
  isUnconfirmed?: true;
  error: JournalError | null;
  /** The service's job of this request, once it is known. */
  jobId: string | null;
  /** An answer that did not meet the schema. */
  answer: string | null;
  readonly sentAt: number;
  endedAt: number | null;
  /** Never answered, and whoever resumed the run since knows that another request may be charged once more. */
  mayRepeat?: true;
}

export interface StepState {
  readonly path: string;
  status: StepStatus;
  reason: string | null;
  /** What the pipeline's own code says of its failure to callers. */
  forCallers?: string;
  /** Skipped because a `when` did not hold: its result does not count as missing. */
  skippedByCondition: boolean;
  /** Failed as its run ended while its request was under way, which is asked for all the same. */
  isGivenUp?: true;
  /** Skipped because no root of the plan could succeed through it any more; it runs once one can. */
  pruned: boolean;
  startedAt: number | null;
  finishedAt: number | null;
  attempts: AttemptState[];
  /** Attempts and chats that a rerun of the step superseded. */
  superseded: number;
  /** Made again only if what it uses is not the same as before. */
  onlyIfInputsChanged: boolean;
  /** The file's bytes, for upload steps. */
  upload: StoredCopy | null;
  chats: ChatState[];
  /** Failed tries of a task. */
  failures: { readonly at: number; readonly error: JournalError }[];
  /** Files of a task, or what was reused from an earlier run. */
  outputs: OutputState[] | null;
  /** What a chat or a task yielded; undefined until it did. */
  value: Json | undefined;
  approval: { readonly approved: boolean; readonly note: string | null; readonly by?: DecidedBy } | null;
  /** Of a step that waited for a decision; absent without any. */
  comments?: readonly Comment[];
  /** The output that an approval or a pick resolves to. */
  chosen: Chosen | null;
  /** The references that an expansion resolves to; null until it was planned. */
  expanded: readonly Reference[] | null;
  reusedFrom: ReusedFrom | null;
  /** Its rerun was requested: it does not reuse the result of an earlier run. */
  rerunRequested: boolean;
}

export interface PauseState {
  readonly reason: PauseReason;
  readonly message: string;
  readonly fundingUrl: string | null;
  readonly requiredMicros: number | null;
  readonly balanceMicros: number | null;
  /** The option that would have done, where a cap over several runs is reached. */
  readonly flag: string | null;
  /** From when on the run may continue without a person, epoch milliseconds; null: a person decides. */
  readonly resumeAt: number | null;
  /** Prices that were not known when the run was agreed to: `requiredMicros` agrees to them. Absent: none. */
  readonly asks?: readonly AskedPrice[];
  /** Id of the message that stopped it; absent where none did. */
  readonly stopId?: number;
  /** The step that has to be made again, since nobody has its output; absent where none has. */
  readonly rerun?: string;
  /** Steps that a change replaces, which waits for their jobs; absent where none does. */
  readonly replaced?: readonly string[];
  /** Steps whose `within` is over, set for `late`: the run continues by itself once one of them has ended. */
  readonly late?: readonly string[];
}

/** Since when the service is unavailable, and its failure. */
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
  /** Manifest beside it; null without one. */
  readonly manifest: string | null;
}

/** A rerun request. */
export interface RerunRequest {
  readonly requestId: string;
  readonly steps: readonly string[];
  /** Epoch milliseconds. */
  readonly requestedAt: number;
  /** In progress until the run is over or waits for a decision: until then an equal request is this one. */
  isOpen: boolean;
}

/** What a run's events add up to. Plain JSON, so that it can be stored as a snapshot. */
export interface RunState {
  readonly runId: string;
  seq: number;
  epoch: number;
  /** Since when its driver drives it, slices of one engine counted as one, epoch milliseconds; null before the first. */
  drivenSince: number | null;
  /** With the steps of expansions, and after drift was accepted with the new plan. */
  planned: RunPlanned;
  status: RunStatus;
  message: string | null;
  pause: PauseState | null;
  /** Null while the service answers. */
  outage: ServiceOutage | null;
  createdAt: number;
  startedAt: number | null;
  finishedAt: number | null;
  /** How long it was at work. */
  activeTime: ActiveTime;
  /** By path; removed steps too. */
  steps: { [path: string]: StepState };
  /** How many of them ended without their full result. */
  losses: number;
  /** Steps that the plan no longer has, as they were last planned: their results stay listed. */
  removedSteps: PlanStep[];
  /** Names that steps had before they were renamed, with the names they have now. */
  formerNames: { readonly [name: string]: string };
  reruns: RerunRequest[];
  /** Sum of what jobs really cost, micro-dollars. */
  spentMicros: number;
  /** Sum of holds not yet settled or released. */
  heldMicros: number;
  /** Holds of abandoned chats, which may or may not have been charged; they count against the budget. */
  unconfirmedMicros: number;
  /** By model. */
  overcharges: { [model: string]: Overcharge };
  files: PlacedFile[];
  /** As planned, or as set since. */
  budgetMicros: number | null;
  maxUnquotedMicros: number | null;
  /** What somebody agreed to with a quote; null: it was started without one. */
  agreed: AgreedQuote | null;
  /** The share that was reported last, in percent, by the name of its budget or cap. */
  spendingReached?: { readonly [limit: string]: number };
}

/** The attempt that counts: the newest, or null before the first. */
export function lastAttempt(step: StepState): AttemptState | null {
  return step.attempts.length > step.superseded ? step.attempts.at(-1)! : null;
}

/** The request of a step that counts: an attempt, or of a chat its request; null before the first. */
export function lastRequest(step: StepState): AttemptState | ChatState | null {
  return lastAttempt(step) ?? lastChat(step);
}

/** The chat request that counts: the newest, or null before the first. */
export function lastChat(step: StepState): ChatState | null {
  return step.chats.length > step.superseded ? step.chats.at(-1)! : null;
}

export function isStepFinal(status: StepStatus): boolean {
  return stepStates.ended.has(status);
}

export function isRunFinal(status: RunStatus): boolean {
  return runStates.ended.has(status);
}

/** Outputs of a finished step's own, in order; an upload has none. */
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

/** The active time of a run: pauses, and time in which no process drove it, do not count. */
interface ActiveTime {
  /** Of stretches that are over, milliseconds. */
  ms: number;
  /** Start of the current stretch, epoch milliseconds; null while the run is paused. */
  since: number | null;
  /** Of the last event, epoch milliseconds. */
  lastAt: number;
}

export function startClock(activeTime: ActiveTime, at: number): void {
  activeTime.since ??= at;
}

export function stopClock(activeTime: ActiveTime, at: number): void {
  if (activeTime.since !== null) activeTime.ms += Math.max(0, at - activeTime.since);
  activeTime.since = null;
}

/** Whoever drove the run before did so up to its last event, or up to now, had it been parked. */
export function passClock(activeTime: ActiveTime, at: number, wasParked: boolean): void {
  if (activeTime.since === null || wasParked) return;
  stopClock(activeTime, activeTime.lastAt);
  activeTime.since = at;
}

/** How long a run took up to its last event, milliseconds. */
export function activeMs({ activeTime: { ms, since, lastAt } }: { readonly activeTime: ActiveTime }): number {
  return ms + (since === null ? 0 : Math.max(0, lastAt - since));
}

/** Since when the run is driven without a gap, epoch milliseconds. */
export function drivenSince({ activeTime: { since, lastAt } }: { readonly activeTime: ActiveTime }): number {
  return since ?? lastAt;
}
