import type { CleanText } from "../kit/clean-text.ts";
import { DAY_MS } from "../kit/duration.ts";
import type { Json } from "../plan/plan.ts";
import type { Columns, Row } from "./columns.ts";
import type { Delivery, DeliveryOutcome } from "./deliveries.ts";
import type { LedgerChange } from "./events/spec.ts";
import type { Chosen, Comment, DecidedBy, GivenFile, RunEvent, StoredEvent } from "./events.ts";
import type { AccountTotals, LedgerTotals, SpendingCap, SpendingGuard, SpendingScope } from "./money.ts";
import type { ReviewLinkStore } from "./review-links.ts";
import type { RunsQuery } from "./search.ts";
import type { Tags } from "./tags.ts";

/** Who holds a run. On one host a dead holder is recognised by boot id, pid and process start, and replaced at once. */
export interface LeaseHolder {
  readonly host: string;
  readonly bootId: string;
  readonly pid: number;
  /** When the process started, as the operating system says it (opaque). */
  readonly processStart: string;
  /** Distinguishes two engines in one process. */
  readonly instance: string;
  /** Version of Showrunner. */
  readonly program: string;
}

export interface Lease {
  readonly runId: string;
  /** Rises with every holder; a commit under an older epoch is refused. */
  readonly epoch: number;
  /** Epoch milliseconds after which a frozen holder may be replaced. */
  readonly expiresAt: number;
}

export type LeaseOutcome =
  | {
      readonly acquired: true;
      readonly lease: Lease;
      /** The `lease.acquired` that was appended. */
      readonly event: StoredEvent;
      readonly memo: Wake["memo"];
      /** Whether the inbox held anything then. */
      readonly hasMail: boolean;
      /** Number of events that the run's snapshot does not hold, the one appended included. */
      readonly tail: number;
    }
  | { readonly acquired: false; readonly heldBy: LeaseHolder; readonly expiresAt: number };

/** A result that a later run may take over instead of making it again. */
export interface CacheEntry {
  readonly step: string;
  /** Hash of the request, with media by content. */
  readonly fingerprint: string;
  /** Model id; null for a local function. */
  readonly model: string | null;
  /** How long its job or chat took from the acceptance to the end. Absent where it was interrupted, or is no work of the service. */
  readonly tookMs?: number;
}

/** A {@link CacheEntry} with the run that produced it. */
export interface StoredResult extends CacheEntry {
  readonly runId: string;
  readonly account: string;
  /** Epoch milliseconds of the commit that said so. */
  readonly at: number;
}

/** By model, one may be listed that a local function of the same path has replaced since. */
export type ResultsQuery =
  | { readonly account: string; readonly fingerprint: string }
  | { readonly account: string; readonly model: string }
  | { readonly runId: string };

/** What others want of a run; anyone may write it, only the driver consumes it. */
export type InboxMessage =
  /** `reason` is what the pause says, for people; absent: stopped on request. */
  | { readonly type: "stop"; readonly reason?: CleanText }
  | ({
      readonly type: "approve";
      readonly step: string;
      readonly pick?: number;
      /** What stood at that position when it was picked: what is offered may change before this is read. */
      readonly chosen?: Chosen;
      readonly note?: string;
    } & Pick<RunEvent & { readonly type: "approval.decided" }, "value" | "by">)
  | { readonly type: "reject"; readonly step: string; readonly note?: string; readonly by?: DecidedBy }
  | { readonly type: "comment"; readonly step: string; readonly comment: Comment }
  | { readonly type: "adopt"; readonly step: string; readonly jobId: string | null; readonly file?: GivenFile }
  | WorkMessage;

export interface InboxEntry {
  readonly id: number;
  readonly at: number;
  readonly message: InboxMessage;
}

/** One transaction of the run's only writer. */
export interface Commit {
  readonly lease: Lease;
  /** Sequence number of the last event that the writer has seen; anything else refuses the commit. */
  readonly afterSeq: number;
  /** Epoch milliseconds written on the events. */
  readonly at: number;
  readonly events: readonly RunEvent[];
  readonly ledger?: readonly LedgerChange[];
  /** Ids of inbox entries that these events consumed. */
  readonly inbox?: readonly number[];
  /** State after the events, so that a wake need not fold from the start. */
  readonly snapshot?: FoldSnapshot;
  /** Refuses the commit (`cap` or `floor` in the outcome) when its holds would break it. */
  readonly guard?: SpendingGuard;
  /** Results that later runs may take over; an entry replaces the step's earlier one. */
  readonly results?: readonly CacheEntry[];
  /** What to notify people of. */
  readonly notices?: readonly NewNotice[];
  /** Epoch milliseconds from which on a run that pauses now may continue without a person; absent or null: never. */
  readonly resumeAt?: number | null;
  /** True: give the lease back in the same transaction, refused (`inbox` in the outcome) when the inbox holds entries not consumed here. */
  readonly park?: boolean;
  /** Only with `park`: the run is an engine's from now on, which looks at it again then. */
  readonly wake?: Wake;
}

export type CommitOutcome =
  | {
      readonly committed: true;
      readonly lastSeq: number;
      readonly lease: Lease | null;
      /** Number of events that the run's snapshot does not hold. */
      readonly tail: number;
      /** What each cap of the guard comes to, in their order; empty where no holds were made, or the write was repeated. */
      readonly committedMicros: readonly number[];
    }
  /** Another holder took over: stop, write nothing more. */
  | { readonly committed: false; readonly reason: "fenced" }
  /** Only for `park`: a message arrived in the inbox meanwhile; nothing was committed. */
  | { readonly committed: false; readonly reason: "inbox" }
  /** Only with `guard`: holds of `headroomMicros` in all would have passed; nothing was committed. */
  | {
      readonly committed: false;
      readonly reason: "cap";
      /** The first of the guard's caps that the holds would break. */
      readonly cap: SpendingCap;
      readonly headroomMicros: number;
      /** Spent and held without this commit's holds. */
      readonly committedMicros: number;
    }
  | {
      readonly committed: false;
      readonly reason: "floor";
      readonly headroomMicros: number;
      /** Without this commit's holds: what the wallet will lose, or has lost since it was asked. */
      readonly unseenMicros: number;
    };

export type RemoveOutcome =
  | { readonly removed: true }
  /** `leased`: somebody works on it; `holds`: money is still reserved, so the run is not settled; `unknown`: no such run. */
  | { readonly removed: false; readonly reason: "leased" | "holds" | "unknown" };

export interface FoldSnapshot {
  readonly foldVersion: number;
  readonly seq: number;
  /** JSON text, which only the fold reads. */
  readonly state: string;
}

export interface RunRow {
  readonly runId: string;
  readonly pipeline: string;
  /** What people call it; null: its id. */
  readonly title: string | null;
  /** Whose run it is: see `accountOf`. */
  readonly account: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly lastSeq: number;
  /** Status as the last commit left it (see `RunStatus`). */
  readonly status: string;
  readonly tags: Tags;
  /** Epoch milliseconds from which on a paused run may continue without a person; null: a person decides, or it is not paused. */
  readonly resumeAt: number | null;
  /** The process that holds the lease, or held it last without releasing it; null when none does. */
  readonly lease: ({ readonly holder: LeaseHolder } & Pick<Lease, "expiresAt">) | null;
  /** When an engine looks at it again, epoch milliseconds; null where none has to. */
  readonly wakeAt: number | null;
}

/** A presigned handle of uploaded bytes; lives in a table of its own that expires, never in events. */
export interface UploadHandleRow {
  readonly sha256: string;
  readonly account: string;
  readonly url: string;
  readonly contentType: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

export interface Progress {
  readonly step: string;
  readonly fraction: number | null;
  /** Epoch milliseconds, as the service estimates. */
  readonly estimatedCompletionAt: number | null;
}

/**
 * The journal: append-only events of every run, with the ledger, the inbox and the lease beside them so that one
 * transaction can hold all four. Implementations pass one contract suite.
 */
export interface JournalStore extends ReviewLinkStore, QuoteStore {
  /** Folder of the project that the journal's file belongs to, absolute. Absent where there is no file. */
  readonly project?: string | undefined;
  /** This user may only look at it: every write is refused. */
  readonly isReadOnly?: boolean;
  /**
   * How far the clock that the journal's processes share is ahead of this machine's, milliseconds: every instant in the journal goes
   * by it. Absent where all of them are on one machine.
   */
  clockOffsetMs?(): number;
  /** Creates the run with its first event at seq 1; throws `RunExistsError` when the id is taken. `wake`: an engine drives it. */
  createRun(runId: string, first: RunEvent & { readonly type: "run.planned" }, at: number, wake?: Wake): Promise<void>;
  run(runId: string): Promise<RunRow | null>;
  /** Newest first. */
  runs(query?: RunsQuery): Promise<readonly RunRow[]>;
  /** Events after `afterSeq` (default 0), in order. */
  read(
    runId: string,
    options?: { readonly afterSeq?: number; readonly limit?: number },
  ): Promise<readonly StoredEvent[]>;
  snapshot(runId: string): Promise<FoldSnapshot | null>;

  /** Takes the run if it is free, expired, or its holder is dead (`isDead`, with what is left of the lease). Appends `lease.acquired`. */
  takeLease(
    runId: string,
    holder: LeaseHolder,
    options: {
      readonly at: number;
      readonly ttlMs: number;
      readonly isDead: (holder: LeaseHolder, leftMs: number) => boolean;
    },
  ): Promise<LeaseOutcome>;
  /** False when the lease was lost. */
  renewLease(lease: Lease, options: { readonly at: number; readonly ttlMs: number }): Promise<boolean>;
  releaseLease(lease: Lease): Promise<void>;
  commit(commit: Commit & { readonly status: string }): Promise<CommitOutcome>;

  /** Ids of runs that an engine has to look at; a lease that somebody holds hides none. */
  dueRuns(query: DueQuery): Promise<readonly string[]>;

  /** A run of an engine is due with it. */
  send(runId: string, message: InboxMessage, at: number): Promise<number>;
  /**
   * What a webhook said reaches the runs that know its job, now or once one does. Deliveries are remembered for a day, the
   * newest 50,000 of them. Ids are those of `isDeliverable`.
   */
  deliver(delivery: Delivery): Promise<DeliveryOutcome>;
  inbox(runId: string): Promise<readonly InboxEntry[]>;

  ledger(runId: string): Promise<LedgerTotals>;
  /** Totals over every run of the account on this store. */
  accountLedger(account: string): Promise<AccountTotals>;
  /** What counts for a cap of this scope. Of a tag or since an instant, runs that were removed still count. */
  spending(account: string, scope: SpendingScope): Promise<LedgerTotals>;

  /** Made results of runs that are still in the journal, newest first; `limit` at most (default 20). */
  results(query: ResultsQuery, limit?: number): Promise<readonly StoredResult[]>;

  /** What was not delivered yet, of every run, earliest due first. */
  notices(): Promise<readonly NoticeRow[]>;
  /** Due notices, each counted as attempted, for the caller alone until the claim ends. */
  claimNotices(claim: NoticeClaim): Promise<readonly NoticeRow[]>;
  /** Deletes a delivered notice, or sets when it is due again; no effect when it no longer exists. */
  resolveNotice(runId: string, seq: number, outcome: NoticeOutcome): Promise<void>;

  handle(sha256: string, account: string): Promise<UploadHandleRow | null>;
  putHandle(row: UploadHandleRow): Promise<void>;
  /** Forgets the handles that expired by then; answers how many. `dryRun` only counts. */
  dropHandles(expiredAt: number, options?: { readonly dryRun?: boolean }): Promise<number>;
  setProgress(runId: string, progress: Progress): Promise<void>;
  progress(runId: string): Promise<readonly Progress[]>;

  /**
   * Settles once the run has an event after `afterSeq`, written by this process or another. Rejects with the signal's
   * reason when it aborts, and with `JournalClosedError` when the store is closed.
   */
  waitForChange(runId: string, afterSeq: number, signal?: AbortSignal): Promise<void>;

  /** Forgets a run and everything kept for it, in one transaction. A lease held past its expiry does not protect it. */
  removeRun(runId: string, at: number): Promise<RemoveOutcome>;
  /** Content hashes that some run names, apart from these runs: uploads and downloaded outputs. */
  mediaInUse(exceptRuns?: readonly string[]): Promise<ReadonlySet<string>>;
  /** Writes what is queued, then closes; calling it again does nothing. Anything else then rejects. */
  close(): Promise<void>;
}

/**
 * How a run that an engine drives waits: parked, without a process. It is the engine's until it is removed; while it
 * is idle, only a message in its inbox makes it due.
 */
export interface Wake {
  /** When it is due, epoch milliseconds; null: only once a message is in its inbox. */
  readonly at: number | null;
  /**
   * What the next holder of the lease continues from beside the events, such as when each job is polled next. It is handed
   * out once: after a crash it is gone, and everything is asked for again.
   */
  readonly memo: Json;
}

/** A parked run whose slice begins no later than so after it was due was looked after all the time, milliseconds. */
export const ON_TIME_MS = 10_000;

/** Asks for the runs of an account that are due by an instant, the longest overdue first. */
export interface DueQuery {
  readonly account: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly limit: number;
}

/** What others than people tell a run that an engine drives. */
type WorkMessage =
  /** A webhook said that the job of this attempt ended: it is polled now. */
  | { readonly type: "hint"; readonly step: string; readonly attempt: number }
  /**
   * A job of the engine performed a command of this step, which was as `of` says (see `workOf`); or a provider answered a
   * process that had lost the run by then, to the request with the key `of`.
   */
  | {
      readonly type: "performed";
      readonly step: string;
      readonly command: string;
      readonly of: string;
      readonly events: readonly RunEvent[];
    };

/** Something to notify a person of; in the outbox from the commit of its event until it was delivered. */
export interface NewNotice {
  /** Sequence number of the event that it tells of; with the run's id, its name. */
  readonly seq: number;
  /** What kind of news, such as `run.failed`. */
  readonly event: string;
  /** What is sent, as JSON. */
  readonly body: string;
}

export interface NoticeRow extends NewNotice {
  readonly runId: string;
  /** Number of delivery attempts. */
  readonly attempts: number;
  /** Epoch milliseconds of the next attempt. */
  readonly dueAt: number;
  /** What was wrong with the last attempt. */
  readonly lastError: string | null;
}

/** Claims notices that are due at `at`; until `untilAt` no other process gets them. */
export interface NoticeClaim {
  readonly at: number;
  readonly untilAt: number;
  readonly limit: number;
}

export type NoticeOutcome =
  | { readonly delivered: true }
  | { readonly delivered: false; readonly dueAt: number; readonly error: string };

/** A quote that somebody may say yes to. */
export interface IssuedQuote {
  readonly id: string;
  readonly account: string;
  /** What it was made of, by which is said what has changed since. */
  readonly basis: Json;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  /** The run that was started, or resumed, with it; null: none so far. */
  readonly usedBy: string | null;
}

/** How long a quote is remembered after it expired, so that this can be said. */
export const REMEMBERED_MS = 7 * DAY_MS;

/** The quotes of a journal. Each is used by one run, whichever process starts it. */
export interface QuoteStore {
  /** Stores a new one, and forgets those that expired {@link REMEMBERED_MS} before `at`. */
  issueQuote(quote: Omit<IssuedQuote, "usedBy">, at: number): Promise<void>;
  issuedQuote(id: string): Promise<IssuedQuote | null>;
  /** Takes it for this run, for good: true also where the run has it already; false where another has, it expired or is unknown. */
  useQuote(id: string, runId: string, at: number): Promise<boolean>;
}

export const quoteColumns = "id, account, basis, expires_at, used_by";

export function issuedQuoteOf(columns: Columns, row: Row): IssuedQuote {
  return {
    id: columns.text(row, "id"),
    account: columns.text(row, "account"),
    // Written by `issueQuote` only.
    basis: columns.json(row, "basis") as Json,
    expiresAt: columns.integer(row, "expires_at"),
    usedBy: columns.textOrNull(row, "used_by"),
  };
}
