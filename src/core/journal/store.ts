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

/**
 * The holder of a run. On the same host, a dead holder is recognised by boot id, pid and process start, and replaced at
 * once.
 */
export interface LeaseHolder {
  readonly host: string;
  readonly bootId: string;
  readonly pid: number;
  /** When the process started, as an opaque value from the operating system. */
  readonly processStart: string;
  /** Distinguishes several engines in one process. */
  readonly instance: string;
  readonly program: string;
}

export interface Lease {
  readonly runId: string;
  /** Increases with every holder; commits under an older epoch are refused. */
  readonly epoch: number;
  /** When a frozen holder may be replaced, in epoch milliseconds. */
  readonly expiresAt: number;
}

export type LeaseOutcome =
  | {
      readonly acquired: true;
      readonly lease: Lease;
      /** The appended `lease.acquired`. */
      readonly event: StoredEvent;
      readonly memo: Wake["memo"];
      /** True if the inbox was not empty. */
      readonly hasMail: boolean;
      /** Number of events since the run's snapshot, including the appended one. */
      readonly tail: number;
    }
  | { readonly acquired: false; readonly heldBy: LeaseHolder; readonly expiresAt: number };

/** A result that a later run may reuse. */
export interface CacheEntry {
  readonly step: string;
  /** Hash of the request, with media by content. */
  readonly fingerprint: string;
  /** Model id; null for a local function. */
  readonly model: string | null;
  /** Duration of its job or chat from acceptance to end. Absent if interrupted, or not the service's work. */
  readonly tookMs?: number;
}

/** A {@link CacheEntry} with its run. */
export interface StoredResult extends CacheEntry {
  readonly runId: string;
  readonly account: string;
  /** Time of its commit, in epoch milliseconds. */
  readonly at: number;
}

/** A query by model may return a result that a local function with the same path has replaced. */
export type ResultsQuery =
  | { readonly account: string; readonly fingerprint: string }
  | { readonly account: string; readonly model: string }
  | { readonly runId: string };

/** A message to a run. Anyone may write one; only the driver consumes it. */
export type InboxMessage =
  /** `reason`: shown to people; absent: stopped on request. */
  | { readonly type: "stop"; readonly reason?: CleanText }
  | ({
      readonly type: "approve";
      readonly step: string;
      readonly pick?: number;
      /** What was at that position when picked, since the choices may change before this is read. */
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

/** One transaction of a run's only writer. */
export interface Commit {
  readonly lease: Lease;
  /** The last sequence number that the writer has seen; the commit is refused if the run has another. */
  readonly afterSeq: number;
  /** Timestamp of the events, in epoch milliseconds. */
  readonly at: number;
  readonly events: readonly RunEvent[];
  readonly ledger?: readonly LedgerChange[];
  /** Ids of inbox entries that these events consumed. */
  readonly inbox?: readonly number[];
  /** The state after the events, so that it need not be folded from the start. */
  readonly snapshot?: FoldSnapshot;
  /** Refuses the commit (`cap` or `floor` in the outcome) if its holds would break it. */
  readonly guard?: SpendingGuard;
  /** Results for later runs; an entry replaces the step's earlier one. */
  readonly results?: readonly CacheEntry[];
  /** Notifications to people. */
  readonly notices?: readonly NewNotice[];
  /** When a run that pauses now may continue without a person, in epoch milliseconds; absent or null: never. */
  readonly resumeAt?: number | null;
  /**
   * True to release the lease in the same transaction; refused (`inbox` in the outcome) if the inbox contains entries
   * that are not consumed here.
   */
  readonly park?: boolean;
  /** Only with `park`: an engine drives the run from now on and checks it again at this time. */
  readonly wake?: Wake;
}

export type CommitOutcome =
  | {
      readonly committed: true;
      readonly lastSeq: number;
      readonly lease: Lease | null;
      /** Number of events since the run's snapshot. */
      readonly tail: number;
      /** Totals of the guard's caps, in order; empty without holds, or if the write was repeated. */
      readonly committedMicros: readonly number[];
    }
  /** Another holder took over: stop, and write nothing more. */
  | { readonly committed: false; readonly reason: "fenced" }
  /** Only with `park`: a message arrived meanwhile; nothing was committed. */
  | { readonly committed: false; readonly reason: "inbox" }
  /** Only with `guard`: holds of up to `headroomMicros` in total would have passed; nothing was committed. */
  | {
      readonly committed: false;
      readonly reason: "cap";
      /** The first cap that the holds would exceed. */
      readonly cap: SpendingCap;
      readonly headroomMicros: number;
      /** Spent and held without this commit's holds. */
      readonly committedMicros: number;
    }
  | {
      readonly committed: false;
      readonly reason: "floor";
      readonly headroomMicros: number;
      /** What the wallet will lose, or has lost since the balance was read, without this commit's holds. */
      readonly unseenMicros: number;
    };

export type RemoveOutcome =
  | { readonly removed: true }
  /** `leased`: the run is being driven. `holds`: money is still reserved. `unknown`: there is no such run. */
  | { readonly removed: false; readonly reason: "leased" | "holds" | "unknown" };

export interface FoldSnapshot {
  readonly foldVersion: number;
  readonly seq: number;
  /** JSON text that only the fold reads. */
  readonly state: string;
}

export interface RunRow {
  readonly runId: string;
  readonly pipeline: string;
  /** Null: the run has no title and goes by its id. */
  readonly title: string | null;
  /** The run's account; see `accountOf`. */
  readonly account: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly lastSeq: number;
  /** Status after the last commit (see `RunStatus`). */
  readonly status: string;
  readonly tags: Tags;
  /**
   * When a paused run may continue without a person, in epoch milliseconds; null: a person decides, or it is not
   * paused.
   */
  readonly resumeAt: number | null;
  /** The process that holds the lease, or held it last without releasing it; null if there is none. */
  readonly lease: ({ readonly holder: LeaseHolder } & Pick<Lease, "expiresAt">) | null;
  /** When an engine checks the run again, in epoch milliseconds; null if none will. */
  readonly wakeAt: number | null;
}

/** A presigned handle of uploaded bytes. Stored in an expiring table, never in events. */
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
  /** The service's estimate, in epoch milliseconds. */
  readonly estimatedCompletionAt: number | null;
}

/**
 * The journal: append-only events of every run, with ledger, inbox and lease, so that one transaction covers all four.
 * All implementations pass one contract suite.
 */
export interface JournalStore extends ReviewLinkStore, QuoteStore {
  /** Absolute path of the journal file's project. Absent if the journal is not a file. */
  readonly project?: string | undefined;
  /** True if this user may only read: every write is refused. */
  readonly isReadOnly?: boolean;
  /**
   * How far the shared clock, which the journal's processes use for all instants, is ahead of this machine's, in
   * milliseconds. Absent if they are all on one machine.
   */
  clockOffsetMs?(): number;
  /**
   * Creates the run with its first event at seq 1. Throws `RunExistsError` if the id is taken. `wake`: an engine drives
   * it.
   */
  createRun(runId: string, first: RunEvent & { readonly type: "run.planned" }, at: number, wake?: Wake): Promise<void>;
  /** Null if there is no such run. */
  run(runId: string): Promise<RunRow | null>;
  /** Newest first. */
  runs(query?: RunsQuery): Promise<readonly RunRow[]>;
  /** Events after `afterSeq` (default 0), in order. */
  read(
    runId: string,
    options?: { readonly afterSeq?: number; readonly limit?: number },
  ): Promise<readonly StoredEvent[]>;
  /** The newest stored fold of the run's events; null if there is none. */
  snapshot(runId: string): Promise<FoldSnapshot | null>;

  /**
   * Takes the lease if the run is free, its lease has expired, or its holder is dead (`isDead`, with the remaining
   * time). Appends `lease.acquired`.
   */
  takeLease(
    runId: string,
    holder: LeaseHolder,
    options: {
      readonly at: number;
      readonly ttlMs: number;
      readonly isDead: (holder: LeaseHolder, leftMs: number) => boolean;
    },
  ): Promise<LeaseOutcome>;
  /** False if the lease was lost. */
  renewLease(lease: Lease, options: { readonly at: number; readonly ttlMs: number }): Promise<boolean>;
  /** Frees the run for others; no effect if the lease was lost. */
  releaseLease(lease: Lease): Promise<void>;
  /** Appends events, and everything else of the commit, in one transaction. */
  commit(commit: Commit & { readonly status: string }): Promise<CommitOutcome>;

  /** Ids of runs that an engine must check, whether or not they are leased. */
  dueRuns(query: DueQuery): Promise<readonly string[]>;

  /** Puts a message into the inbox; returns its id. A run that an engine drives becomes due. */
  send(runId: string, message: InboxMessage, at: number): Promise<number>;
  /**
   * Passes a webhook's hint to the runs that know its job, now or once one does. The newest 50,000 deliveries are
   * remembered for a day. Ids must pass `isDeliverable`.
   */
  deliver(delivery: Delivery): Promise<DeliveryOutcome>;
  /** Messages that the run has not consumed, oldest first. */
  inbox(runId: string): Promise<readonly InboxEntry[]>;

  /** What the run reserved, spent and got back. */
  ledger(runId: string): Promise<LedgerTotals>;
  /** Totals across all of the account's runs in this store. */
  accountLedger(account: string): Promise<AccountTotals>;
  /** The money that counts towards a cap with this scope. With a tag or an instant, removed runs still count. */
  spending(account: string, scope: SpendingScope): Promise<LedgerTotals>;

  /** Results of runs that are still in the journal, newest first; at most `limit` (default 20). */
  results(query: ResultsQuery, limit?: number): Promise<readonly StoredResult[]>;

  /** Undelivered notifications of all runs, earliest due first. */
  notices(): Promise<readonly NoticeRow[]>;
  /** Claims due notifications for the caller until the claim ends; each counts as attempted. */
  claimNotices(claim: NoticeClaim): Promise<readonly NoticeRow[]>;
  /** Deletes a delivered notification, or sets when it is due again; no effect if it no longer exists. */
  resolveNotice(runId: string, seq: number, outcome: NoticeOutcome): Promise<void>;

  /** The account's upload handle for these bytes; null if there is none. */
  handle(sha256: string, account: string): Promise<UploadHandleRow | null>;
  /** Stores a handle; it replaces an older one for the same bytes. */
  putHandle(row: UploadHandleRow): Promise<void>;
  /** Removes handles that have expired by then; returns their number. `dryRun` only counts. */
  dropHandles(expiredAt: number, options?: { readonly dryRun?: boolean }): Promise<number>;
  /** Stores the latest progress of a step. Not stored as an event, so it may be lost. */
  setProgress(runId: string, progress: Progress): Promise<void>;
  /** Latest progress of the run's steps. */
  progress(runId: string): Promise<readonly Progress[]>;

  /**
   * Resolves once the run has an event after `afterSeq`, written by any process. Rejects with the signal's reason if it
   * aborts, and with `JournalClosedError` if the store is closed.
   */
  waitForChange(runId: string, afterSeq: number, signal?: AbortSignal): Promise<void>;

  /** Removes a run with all its data in one transaction. An expired lease does not protect it. */
  removeRun(runId: string, at: number): Promise<RemoveOutcome>;
  /** Hashes of media (uploads and downloaded outputs) that runs other than these refer to. */
  mediaInUse(exceptRuns?: readonly string[]): Promise<ReadonlySet<string>>;
  /** Writes what is queued, then closes. Safe to call again; every other call then rejects. */
  close(): Promise<void>;
}

/**
 * How a run is parked while its engine has no process. The run belongs to the engine until it is removed; while idle,
 * only a message makes it due.
 */
export interface Wake {
  /** When the run is due, in epoch milliseconds; null: only when its inbox has a message. */
  readonly at: number | null;
  /**
   * What the next holder of the lease needs besides the events, such as the next poll of each job. Returned once; after
   * a crash it is lost, and everything is polled again.
   */
  readonly memo: Json;
}

/** A parked run counts as driven throughout if its slice starts at most this much later than due, in milliseconds. */
export const ON_TIME_MS = 10_000;

/** Selects runs of an account due by an instant, longest overdue first. */
export interface DueQuery {
  readonly account: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly limit: number;
}

/** Messages from programs to a run that an engine drives. */
type WorkMessage =
  /** A webhook reported the end of this attempt's job, which is polled now. */
  | { readonly type: "hint"; readonly step: string; readonly attempt: number }
  /**
   * A job of the engine performed a command of this step in the state that `of` identifies (see `workOf`); or a
   * provider answered the request with key `of` to a process that had lost the run.
   */
  | {
      readonly type: "performed";
      readonly step: string;
      readonly command: string;
      readonly of: string;
      readonly events: readonly RunEvent[];
    };

/** A notification to a person; in the outbox from its event's commit until delivered. */
export interface NewNotice {
  /** Sequence number of the event; together with the run's id, it identifies the notification. */
  readonly seq: number;
  /** Kind of notification, such as `run.failed`. */
  readonly event: string;
  /** The notification as JSON. */
  readonly body: string;
}

export interface NoticeRow extends NewNotice {
  readonly runId: string;
  readonly attempts: number;
  /** Time of the next attempt, in epoch milliseconds. */
  readonly dueAt: number;
  readonly lastError: string | null;
}

/** Claims notifications that are due at `at`; no other process gets them until `untilAt`. */
export interface NoticeClaim {
  readonly at: number;
  readonly untilAt: number;
  readonly limit: number;
}

export type NoticeOutcome =
  | { readonly delivered: true }
  | { readonly delivered: false; readonly dueAt: number; readonly error: string };

/** A quote that can be accepted. */
export interface IssuedQuote {
  readonly id: string;
  readonly account: string;
  /** What the quote is based on, so that later changes can be reported. */
  readonly basis: Json;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  /** The run that was started or resumed with the quote; null: none yet. */
  readonly usedBy: string | null;
}

/** How long an expired quote is remembered, so that messages can say that it expired. */
export const REMEMBERED_MS = 7 * DAY_MS;

/** A journal's quotes. Each is used by one run, whichever process starts it. */
export interface QuoteStore {
  /** Stores a new quote and removes those that expired {@link REMEMBERED_MS} before `at`. */
  issueQuote(quote: Omit<IssuedQuote, "usedBy">, at: number): Promise<void>;
  issuedQuote(id: string): Promise<IssuedQuote | null>;
  /**
   * Assigns the quote to this run permanently. Also true if this run already has it; false if another run has it, or if
   * it is expired or unknown.
   */
  useQuote(id: string, runId: string, at: number): Promise<boolean>;
}

export const quoteColumns = "id, account, basis, expires_at, used_by";

export function issuedQuoteOf(columns: Columns, row: Row): IssuedQuote {
  return {
    id: columns.text(row, "id"),
    account: columns.text(row, "account"),
    // Only `issueQuote` writes it.
    basis: columns.json(row, "basis") as Json,
    expiresAt: columns.integer(row, "expires_at"),
    usedBy: columns.textOrNull(row, "used_by"),
  };
}
