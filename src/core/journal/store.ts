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

/** The process that holds a run's lease. On the same host, a dead holder is recognized and replaced immediately. */
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
  /** Milliseconds from the acceptance of the job or chat to its end, if known. */
  readonly tookMs?: number;
}

/** A reusable result and the run that produced it. */
export interface StoredResult extends CacheEntry {
  readonly runId: string;
  readonly account: string;
  /** Time at which the result was committed, in epoch milliseconds. */
  readonly at: number;
}

/** Selects results by request, by model or by run. */
export type ResultsQuery =
  | { readonly account: string; readonly fingerprint: string }
  | { readonly account: string; readonly model: string }
  | { readonly runId: string };

/** A message to a run. Anyone may write messages, but only the driver consumes them. */
export type InboxMessage =
  /** Asks the run to stop. `reason` is shown to people. */
  | { readonly type: "stop"; readonly reason?: CleanText }
  | ({
      readonly type: "approve";
      readonly step: string;
      readonly pick?: number;
      /** The output that the person saw at the picked position. The choices may change later. */
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

/** Everything that a run's writer stores in one transaction. */
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
  /** When the paused run may continue without a person, in epoch milliseconds; null if never. */
  readonly resumeAt?: number | null;
  /**
   * Releases the lease in the same transaction. The commit is refused if the inbox contains entries that it does not
   * consume.
   */
  readonly park?: boolean;
  /** When an engine checks the parked run again. Set only with `park`. */
  readonly wake?: Wake;
}

export type CommitOutcome =
  | {
      readonly committed: true;
      readonly lastSeq: number;
      readonly lease: Lease | null;
      /** Number of events since the run's snapshot. */
      readonly tail: number;
      /** The money under each of the guard's caps, in order; empty if the commit holds no money. */
      readonly committedMicros: readonly number[];
    }
  /** Another holder took over. The caller must stop and write nothing more. */
  | { readonly committed: false; readonly reason: "fenced" }
  /** A message arrived before the run could be parked. Nothing was committed. */
  | { readonly committed: false; readonly reason: "inbox" }
  /** The holds exceed a limit that allows only `headroomMicros`. Nothing was committed. */
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
  /**
   * Why the run was not removed: a process drives it (`leased`), money is still reserved (`holds`), or it does not
   * exist (`unknown`).
   */
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
  /** The run's title; null if it is listed by its id. */
  readonly title: string | null;
  /** The run's account. See `accountOf`. */
  readonly account: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly lastSeq: number;
  /** Status after the last commit (see `RunStatus`). */
  readonly status: string;
  readonly tags: Tags;
  /** When a paused run may continue without a person, in epoch milliseconds; null in all other cases. */
  readonly resumeAt: number | null;
  /** The process that holds the lease, or the last holder if it did not release the lease. */
  readonly lease: ({ readonly holder: LeaseHolder } & Pick<Lease, "expiresAt">) | null;
  /** When an engine checks the run again, in epoch milliseconds; null if never. */
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

/** Stores all runs: their append-only events, ledgers, inboxes and leases. */
export interface JournalStore extends ReviewLinkStore, QuoteStore {
  /** Absolute path of the journal file's project. Absent if the journal is not a file. */
  readonly project?: string | undefined;
  /** True if the journal was opened for reading only. Every write is then refused. */
  readonly isReadOnly?: boolean;
  /**
   * Returns how many milliseconds the shared clock is ahead of this machine's clock. Absent if all processes are on one
   * machine.
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

  /** Takes the lease if the run is free, its lease has expired, or its holder is dead. Appends `lease.acquired`. */
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
  /** Writes everything in the commit in one transaction. */
  commit(commit: Commit & { readonly status: string }): Promise<CommitOutcome>;

  /** Returns ids of runs that an engine must check, whether or not they are leased. */
  dueRuns(query: DueQuery): Promise<readonly string[]>;

  /** Puts a message into the inbox and returns its id. If an engine drives the run, it checks the run immediately. */
  send(runId: string, message: InboxMessage, at: number): Promise<number>;
  /**
   * Passes a webhook's hint to the runs that have its job, or to the run that adds the job later. Ids must pass
   * `isDeliverable`.
   */
  deliver(delivery: Delivery): Promise<DeliveryOutcome>;
  /** Returns messages that the run has not consumed, oldest first. */
  inbox(runId: string): Promise<readonly InboxEntry[]>;

  /** Returns the run's reserved and spent money. */
  ledger(runId: string): Promise<LedgerTotals>;
  /** Returns totals across all of the account's runs in this store. */
  accountLedger(account: string): Promise<AccountTotals>;
  /** Returns the reserved and spent money within a scope. */
  spending(account: string, scope: SpendingScope): Promise<LedgerTotals>;

  /** Returns results of runs that are still in the journal, newest first, at most `limit` (default 20). */
  results(query: ResultsQuery, limit?: number): Promise<readonly StoredResult[]>;

  /** Returns undelivered notifications of all runs, earliest due first. */
  notices(): Promise<readonly NoticeRow[]>;
  /** Claims due notifications for the caller until the claim ends. Each claim counts as a delivery attempt. */
  claimNotices(claim: NoticeClaim): Promise<readonly NoticeRow[]>;
  /** Deletes a delivered notification, or sets when it is due again. Has no effect if it no longer exists. */
  resolveNotice(runId: string, seq: number, outcome: NoticeOutcome): Promise<void>;

  /** Returns the account's upload handle for the file with this hash; null if there is none. */
  handle(sha256: string, account: string): Promise<UploadHandleRow | null>;
  /** Stores a handle, and replaces an older handle for the same file. */
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

/** When an engine must continue an idle run, and what it must know to do so. */
export interface Wake {
  /** When the run is due, in epoch milliseconds; null if only a message makes it due. */
  readonly at: number | null;
  /**
   * Facts that the next holder of the lease needs besides the events, such as when to poll each job. They are returned
   * only once.
   */
  readonly memo: Json;
}

/** A parked run that continues at most this many milliseconds late is treated as driven without interruption. */
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
   * Passes on the events of work that was done without the lease. `of` identifies the work (see `workOf`), or is the
   * key of a request to a provider.
   */
  | {
      readonly type: "performed";
      readonly step: string;
      readonly command: string;
      readonly of: string;
      readonly events: readonly RunEvent[];
    };

/** A notification to a person, kept until it is delivered. */
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
  /** The facts on which the quote is based, so that later changes can be reported. */
  readonly basis: Json;
  readonly expiresAt: number;
  /** The run that was started or resumed with the quote; null if there is none yet. */
  readonly usedBy: string | null;
}

/** How long an expired quote is remembered, so that a message can state that it has expired. */
export const REMEMBERED_MS = 7 * DAY_MS;

/** A journal's quotes. Each quote can be used for one run, which any process may start. */
export interface QuoteStore {
  /** Stores a new quote, and removes quotes that expired more than {@link REMEMBERED_MS} before `at`. */
  issueQuote(quote: Omit<IssuedQuote, "usedBy">, at: number): Promise<void>;
  issuedQuote(id: string): Promise<IssuedQuote | null>;
  /** Assigns the quote to this run permanently. Returns false if another run has it, or if it is expired or unknown. */
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
