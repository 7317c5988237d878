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
 * The holder of a run's lease. On the same host, a dead holder is recognised by boot id, pid and process start, and is
 * replaced at once.
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
  /** Increases with every new holder. Commits with an older epoch are refused. */
  readonly epoch: number;
  /** When the lease expires, in epoch milliseconds. From then on, another holder may take the lease. */
  readonly expiresAt: number;
}

export type LeaseOutcome =
  | {
      readonly acquired: true;
      readonly lease: Lease;
      readonly event: StoredEvent;
      readonly memo: Wake["memo"];
      readonly hasMail: boolean;
      /** Number of events since the run's snapshot, including the appended event. */
      readonly tail: number;
    }
  | { readonly acquired: false; readonly heldBy: LeaseHolder; readonly expiresAt: number };

/** A result that a later run may reuse. */
export interface CacheEntry {
  readonly step: string;
  /** Hash of the request, in which media are identified by their content. */
  readonly fingerprint: string;
  /** Model id; null for a local function. */
  readonly model: string | null;
  /**
   * Milliseconds from the acceptance of the job or chat to its end. Absent if the work was interrupted or was not done
   * by the service.
   */
  readonly tookMs?: number;
}

/** A {@link CacheEntry} with its run. */
export interface StoredResult extends CacheEntry {
  readonly runId: string;
  readonly account: string;
  /** Time at which the result was committed, in epoch milliseconds. */
  readonly at: number;
}

/** Selects results. A model's results may include a result that a local function with the same path has replaced. */
export type ResultsQuery =
  | { readonly account: string; readonly fingerprint: string }
  | { readonly account: string; readonly model: string }
  | { readonly runId: string };

/** A message to a run. Anyone may write messages, but only the driver consumes them. */
export type InboxMessage =
  /** `reason` is shown to people. */
  | { readonly type: "stop"; readonly reason?: CleanText }
  | ({
      readonly type: "approve";
      readonly step: string;
      readonly pick?: number;
      /** The output that was at the picked position when the person picked it. The choices may change later. */
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

/** Everything that a run's only writer stores in one transaction. */
export interface Commit {
  readonly lease: Lease;
  /** The last sequence number that the writer has read. The commit is refused if the run's last number differs. */
  readonly afterSeq: number;
  /** Timestamp of the events, in epoch milliseconds. */
  readonly at: number;
  readonly events: readonly RunEvent[];
  readonly ledger?: readonly LedgerChange[];
  /** Ids of inbox entries that these events consumed. */
  readonly inbox?: readonly number[];
  /** The state after the events. Later reads can start from it instead of folding all events. */
  readonly snapshot?: FoldSnapshot;
  /** Limits on the commit's holds. A commit that exceeds a limit is refused (`cap` or `floor` in the outcome). */
  readonly guard?: SpendingGuard;
  /** Results that later runs may reuse. Each replaces the same step's earlier result. */
  readonly results?: readonly CacheEntry[];
  readonly notices?: readonly NewNotice[];
  /** If this commit pauses the run: when it may continue without a person, in epoch milliseconds. Null: never. */
  readonly resumeAt?: number | null;
  /**
   * Releases the lease in the same transaction. The commit is refused (`inbox` in the outcome) if the inbox contains
   * entries that it does not consume.
   */
  readonly park?: boolean;
  /** Only with `park`: an engine continues to drive the run and checks it again at this time. */
  readonly wake?: Wake;
}

export type CommitOutcome =
  | {
      readonly committed: true;
      readonly lastSeq: number;
      readonly lease: Lease | null;
      /** Number of events since the run's snapshot. */
      readonly tail: number;
      /** The money under each cap of the guard, in order; empty without holds, or for a repeated write. */
      readonly committedMicros: readonly number[];
    }
  /** Another holder took over. The caller must stop and write nothing more. */
  | { readonly committed: false; readonly reason: "fenced" }
  /** Only with `park`: a message arrived meanwhile. Nothing was committed. */
  | { readonly committed: false; readonly reason: "inbox" }
  /**
   * Only with `guard`: the holds exceed a limit, and only `headroomMicros` would have been allowed. Nothing was
   * committed.
   */
  | {
      readonly committed: false;
      readonly reason: "cap";
      /** The first cap that the holds would exceed. */
      readonly cap: SpendingCap;
      readonly headroomMicros: number;
      /** Spent and held money, without this commit's holds. */
      readonly committedMicros: number;
    }
  | {
      readonly committed: false;
      readonly reason: "floor";
      readonly headroomMicros: number;
      /** Actual or expected charges that the balance does not show yet, without this commit's holds. */
      readonly unseenMicros: number;
    };

export type RemoveOutcome =
  | { readonly removed: true }
  /** `leased`: a process drives the run. `holds`: money is still reserved. `unknown`: there is no such run. */
  | { readonly removed: false; readonly reason: "leased" | "holds" | "unknown" };

export interface FoldSnapshot {
  readonly foldVersion: number;
  readonly seq: number;
  /** JSON text that only `loadRun` reads. */
  readonly state: string;
}

export interface RunRow {
  readonly runId: string;
  readonly pipeline: string;
  /** Null: the run has no title and is listed by its id. */
  readonly title: string | null;
  /** The run's account. See `accountOf`. */
  readonly account: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly lastSeq: number;
  /** Status after the last commit (see `RunStatus`). */
  readonly status: string;
  readonly tags: Tags;
  /**
   * When a paused run may continue without a person, in epoch milliseconds. Null if a person must decide, or if the run
   * is not paused.
   */
  readonly resumeAt: number | null;
  /** The process that holds the lease, or the last holder if it did not release the lease. */
  readonly lease: ({ readonly holder: LeaseHolder } & Pick<Lease, "expiresAt">) | null;
  /** When an engine checks the run again, in epoch milliseconds; null: never. */
  readonly wakeAt: number | null;
}

/** A presigned URL of an uploaded file. It is stored in an expiring table, never in events. */
export interface UploadHandleRow {
  readonly sha256: string;
  readonly account: string;
  readonly url: string;
  readonly contentType: string;
  readonly expiresAt: number;
}

export interface Progress {
  readonly step: string;
  readonly fraction: number | null;
  /** The service's estimate, in epoch milliseconds. */
  readonly estimatedCompletionAt: number | null;
}

/**
 * The journal of all runs: append-only events, ledger, inbox and lease. One transaction covers all four. All
 * implementations pass one contract suite.
 */
export interface JournalStore extends ReviewLinkStore, QuoteStore {
  /** Absolute path of the journal file's project. Absent: the journal is not a file. */
  readonly project?: string | undefined;
  /** True if the journal was opened for reading only. Every write is then refused. */
  readonly isReadOnly?: boolean;
  /**
   * Returns how many milliseconds the shared clock is ahead of this machine's clock. All processes use the shared clock
   * for timestamps. Absent: all processes are on one machine.
   */
  clockOffsetMs?(): number;
  /**
   * Creates the run with its first event, at seq 1. Pass `wake` if an engine drives the run.
   * @throws `RunExistsError` if the id is taken.
   */
  createRun(runId: string, first: RunEvent & { readonly type: "run.planned" }, at: number, wake?: Wake): Promise<void>;
  /** Returns a run's row; null if there is no such run. */
  run(runId: string): Promise<RunRow | null>;
  /** Lists the runs that match the query, newest first. */
  runs(query?: RunsQuery): Promise<readonly RunRow[]>;
  /** Returns events after `afterSeq` (default 0), in order. */
  read(
    runId: string,
    options?: { readonly afterSeq?: number; readonly limit?: number },
  ): Promise<readonly StoredEvent[]>;
  /** Returns the newest snapshot of the run's state; null if there is none. */
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
  /** Renews the lease. Returns false if the lease was lost. */
  renewLease(lease: Lease, options: { readonly at: number; readonly ttlMs: number }): Promise<boolean>;
  /** Frees the run for other processes. Has no effect if the lease was lost. */
  releaseLease(lease: Lease): Promise<void>;
  /** Writes the commit's events, and everything else in the commit, in one transaction. */
  commit(commit: Commit & { readonly status: string }): Promise<CommitOutcome>;

  /** Returns ids of runs that an engine must check, whether or not they are leased. */
  dueRuns(query: DueQuery): Promise<readonly string[]>;

  /**
   * Puts a message into the inbox and returns the message's id. If an engine drives the run, the run is due at once.
   */
  send(runId: string, message: InboxMessage, at: number): Promise<number>;
  /**
   * Passes a webhook's hint to the runs that have its job. If no run has the job yet, the run that adds the job later
   * gets the hint. The newest 50,000 deliveries are remembered for a day. Ids must pass `isDeliverable`.
   */
  deliver(delivery: Delivery): Promise<DeliveryOutcome>;
  /** Returns messages that the run has not consumed, oldest first. */
  inbox(runId: string): Promise<readonly InboxEntry[]>;

  /** Returns the run's reserved and spent money. */
  ledger(runId: string): Promise<LedgerTotals>;
  /** Returns totals across all of the account's runs in this store. */
  accountLedger(account: string): Promise<AccountTotals>;
  /** Returns the money under a cap with this scope. With a tag or a start time, includes removed runs. */
  spending(account: string, scope: SpendingScope): Promise<LedgerTotals>;

  /** Returns results of runs that are still in the journal, newest first, at most `limit` (default 20). */
  results(query: ResultsQuery, limit?: number): Promise<readonly StoredResult[]>;

  /** Returns undelivered notifications of all runs, earliest due first. */
  notices(): Promise<readonly NoticeRow[]>;
  /** Claims due notifications for the caller until the claim ends. Each claim counts as a delivery attempt. */
  claimNotices(claim: NoticeClaim): Promise<readonly NoticeRow[]>;
  /** Deletes a delivered notification, or sets when it is due again. Has no effect if it no longer exists. */
  resolveNotice(runId: string, seq: number, outcome: NoticeOutcome): Promise<void>;

  /** Returns the account's upload handle for these bytes; null if there is none. */
  handle(sha256: string, account: string): Promise<UploadHandleRow | null>;
  /** Stores a handle and replaces an older handle of the same bytes. */
  putHandle(row: UploadHandleRow): Promise<void>;
  /** Removes the handles that have expired by this time, and returns their number. `dryRun` only counts them. */
  dropHandles(expiredAt: number, options?: { readonly dryRun?: boolean }): Promise<number>;
  /** Stores the latest progress of a step. Progress is not an event, so it may be lost. */
  setProgress(runId: string, progress: Progress): Promise<void>;
  /** Returns the latest progress of the run's steps. */
  progress(runId: string): Promise<readonly Progress[]>;

  /**
   * Resolves once the run has an event after `afterSeq`, written by any process. Rejects with the signal's reason if
   * the signal aborts, and with `JournalClosedError` if the store is closed.
   */
  waitForChange(runId: string, afterSeq: number, signal?: AbortSignal): Promise<void>;

  /** Removes a run with all its data in one transaction. An expired lease does not protect the run. */
  removeRun(runId: string, at: number): Promise<RemoveOutcome>;
  /** Returns hashes of the media (uploads and downloaded outputs) that runs other than `exceptRuns` use. */
  mediaInUse(exceptRuns?: readonly string[]): Promise<ReadonlySet<string>>;
  /** Writes everything that is queued, then closes the store. Later calls of other methods reject. */
  close(): Promise<void>;
}

/**
 * The state of an engine's run while no process drives it. Until this entry is removed, only that engine drives the
 * run. While the run is idle, only a message makes it due.
 */
export interface Wake {
  /** When the run is due, in epoch milliseconds; null: only when its inbox has a message. */
  readonly at: number | null;
  /**
   * Facts that the next holder of the lease needs besides the events, such as the time of each job's next poll. They
   * are returned only once. After a crash, they are lost, and all jobs are polled again.
   */
  readonly memo: Json;
}

/** A parked run is considered driven without interruption if its slice starts at most this many milliseconds late. */
export const ON_TIME_MS = 10_000;

/** Selects an account's runs that are due at a certain time, the longest overdue first. */
export interface DueQuery {
  readonly account: string;
  readonly at: number;
  readonly limit: number;
}

/** Messages from programs to a run that an engine drives. */
type WorkMessage =
  /** A webhook reported the end of this attempt's job, so the job is polled now. */
  | { readonly type: "hint"; readonly step: string; readonly attempt: number }
  /**
   * Work was done without the lease. An engine's job performed a command while the step was doing the work `of` (see
   * `workOf`), or a provider responded to the request with the key `of` after the lease was lost.
   */
  | {
      readonly type: "performed";
      readonly step: string;
      readonly command: string;
      readonly of: string;
      readonly events: readonly RunEvent[];
    };

/** A notification to a person. The outbox keeps it from the commit of its event until it is delivered. */
export interface NewNotice {
  /** Sequence number of the event. With the run's id, it identifies the notification. */
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

/** Claims notifications that are due at `at`. No other process gets them until `untilAt`. */
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
  /** The facts behind the quote. Later changes to them can be reported. */
  readonly basis: Json;
  readonly expiresAt: number;
  /** The run that was started or resumed with the quote; null if there is none yet. */
  readonly usedBy: string | null;
}

/** How long an expired quote is remembered, so that a message can state that it has expired. */
export const REMEMBERED_MS = 7 * DAY_MS;

/** A journal's quotes. Each quote is for one run only. Any process may start that run. */
export interface QuoteStore {
  /** Stores a new quote. Removes all quotes that expired more than {@link REMEMBERED_MS} before `at`. */
  issueQuote(quote: Omit<IssuedQuote, "usedBy">, at: number): Promise<void>;
  issuedQuote(id: string): Promise<IssuedQuote | null>;
  /**
   * Assigns the quote to this run permanently. Returns true if this run has the quote now or had it before, and false
   * if another run has it, or if it is expired or unknown.
   */
  useQuote(id: string, runId: string, at: number): Promise<boolean>;
}

export const quoteColumns = "id, account, basis, expires_at, used_by";

export function issuedQuoteOf(columns: Columns, row: Row): IssuedQuote {
  return {
    id: columns.text(row, "id"),
    account: columns.text(row, "account"),
    // Only `issueQuote` writes the basis.
    basis: columns.json(row, "basis") as Json,
    expiresAt: columns.integer(row, "expires_at"),
    usedBy: columns.textOrNull(row, "used_by"),
  };
}
