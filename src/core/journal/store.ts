import type { CleanText } from "../kit/clean-text.ts";
import { DAY_MS } from "../kit/duration.ts";
import type { Tags } from "../kit/tags.ts";
import type { Json } from "../plan/plan.ts";
import type { Columns, Row } from "./columns.ts";
import type { Delivery, DeliveryOutcome } from "./deliveries.ts";
import type { LedgerChange } from "./events/spec.ts";
import type { Chosen, Comment, DecidedBy, GivenFile, RunEvent, StoredEvent } from "./events.ts";
import type { ReviewLinkStore } from "./review-links.ts";
import type { RunsQuery } from "./search.ts";

/** The process that holds a run's lease. */
export interface LeaseHolder {
  readonly host: string;
  readonly bootId: string;
  readonly pid: number;
  /** When the process started, as an opaque value from the operating system. */
  readonly processStart: string;
  /** Distinguishes this engine from other engines in the same process. */
  readonly instance: string;
  readonly program: string;
}

export interface Lease {
  readonly runId: string;
  /** Increases with every new holder. Commits with an older epoch are refused. */
  readonly epoch: number;
  /** When the lease expires, in epoch milliseconds. */
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
  /** Hash of the request. Media in the request are identified by their content. */
  readonly fingerprint: string;
  /** Model id; null for a local function. */
  readonly model: string | null;
  /** How long the job or chat took, in milliseconds, if known. */
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

/** A message to the process that works on a run. */
export type InboxMessage =
  /** Asks the run to stop. `reason` is shown to people. */
  | { readonly type: "stop"; readonly reason?: CleanText }
  | ({
      readonly type: "approve";
      readonly step: string;
      readonly pick?: number;
      /** The output that the person saw at the picked position. */
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
  /** The last sequence number that the writer has read. If it is outdated, the commit is refused. */
  readonly afterSeq: number;
  /** Timestamp of the events, in epoch milliseconds. */
  readonly at: number;
  readonly events: readonly RunEvent[];
  readonly ledger?: readonly LedgerChange[];
  /** Ids of inbox entries that these events consumed. */
  readonly inbox?: readonly number[];
  /** The state after the events. */
  readonly snapshot?: FoldSnapshot;
  /** Limits on the commit's holds. A commit that exceeds one is refused. */
  readonly guard?: SpendingGuard;
  /** Results that later runs may reuse. Each replaces the same step's earlier result. */
  readonly results?: readonly CacheEntry[];
  readonly notices?: readonly NewNotice[];
  /** When the paused run may continue without a person, in epoch milliseconds. */
  readonly resumeAt?: number | null;
  /** True to release the lease with the commit. The commit is refused if the inbox contains unread messages. */
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
      /** Money spent and held under each of the guard's caps, in the order of the caps. */
      readonly committedMicros: readonly number[];
    }
  /** Another process took the lease, so the caller must write nothing more. */
  | { readonly committed: false; readonly reason: "fenced" }
  /** A message arrived before the run could be parked. Nothing was committed. */
  | { readonly committed: false; readonly reason: "inbox" }
  /** The holds exceed a limit that allows only `headroomMicros`. Nothing was committed. */
  | {
      readonly committed: false;
      readonly reason: "cap";
      readonly cap: SpendingCap;
      readonly headroomMicros: number;
      /** Spent and held money, without this commit's holds. */
      readonly committedMicros: number;
    }
  | {
      readonly committed: false;
      readonly reason: "floor";
      readonly headroomMicros: number;
      /** Charges that the balance does not include yet. This commit's holds are not counted. */
      readonly unseenMicros: number;
    };

export type RemoveOutcome =
  | { readonly removed: true }
  /**
   * Not removed, because a process is working on the run (`leased`), money is reserved for it (`holds`), or there is no
   * such run (`unknown`).
   */
  | { readonly removed: false; readonly reason: "leased" | "holds" | "unknown" };

export interface FoldSnapshot {
  readonly foldVersion: number;
  readonly seq: number;
  /** The run's state as JSON text. Only `loadRun` reads it. */
  readonly state: string;
}

export interface RunRow {
  readonly runId: string;
  readonly pipeline: string;
  /** The run's title; null if it has none. */
  readonly title: string | null;
  /** The run's account. See `accountOf`. */
  readonly account: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly lastSeq: number;
  /** Status after the last commit (see `RunStatus`). */
  readonly status: string;
  readonly tags: Tags;
  /** When a paused run may continue without a person, in epoch milliseconds. */
  readonly resumeAt: number | null;
  /** The process that holds the lease, or the last holder if it did not release the lease. */
  readonly lease: ({ readonly holder: LeaseHolder } & Pick<Lease, "expiresAt">) | null;
  /** When an engine checks the run again, in epoch milliseconds; null if never. */
  readonly wakeAt: number | null;
}

/** A presigned URL of an uploaded file. The URL is never stored in events. */
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

/** An update for watchers of a run: an event, or progress that is too minor to be an event. */
export type RunUpdate = StoredEvent | ({ readonly type: "progress" } & Progress);

/** Stores all runs: their append-only events, ledgers, inboxes and leases. */
export interface JournalStore extends ReviewLinkStore, QuoteStore {
  /** Absolute path of the project folder that contains the journal file. */
  readonly project?: string | undefined;
  /** True if the journal was opened for reading only. Every write is then refused. */
  readonly isReadOnly?: boolean;
  /** Returns how many milliseconds the database server's clock is ahead of this machine's clock. */
  clockOffsetMs?(): number;
  /**
   * Creates the run with its first event, at seq 1. Pass `wake` if an engine will work on the run.
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
  /** Releases the lease, so that other processes can take the run. Has no effect if the lease was lost. */
  releaseLease(lease: Lease): Promise<void>;
  /** Writes everything in the commit in one transaction. */
  commit(commit: Commit & { readonly status: string }): Promise<CommitOutcome>;

  /** Returns the ids of runs that are due, whether or not they are leased. */
  dueRuns(query: DueQuery): Promise<readonly string[]>;

  /** Puts a message into the inbox and returns its id. */
  send(runId: string, message: InboxMessage, at: number): Promise<number>;
  /** Passes a webhook's message to the runs that its job belongs to. The delivery's ids must pass `isDeliverable`. */
  deliver(delivery: Delivery): Promise<DeliveryOutcome>;
  /** Returns messages that the run has not consumed, oldest first. */
  inbox(runId: string): Promise<readonly InboxEntry[]>;

  /** Returns the run's reserved and spent money. */
  ledger(runId: string): Promise<LedgerTotals>;
  /** Returns totals across all of the account's runs in this store. */
  accountLedger(account: string): Promise<AccountTotals>;
  /** Returns how much money is reserved and spent within a scope. */
  spending(account: string, scope: SpendingScope): Promise<LedgerTotals>;

  /** Returns results of runs that are still in the journal, newest first, at most `limit` (default 20). */
  results(query: ResultsQuery, limit?: number): Promise<readonly StoredResult[]>;

  /** Returns undelivered notifications of all runs, earliest due first. */
  notices(): Promise<readonly NoticeRow[]>;
  /** Claims due notifications, so that no other process delivers them. Each claim counts as an attempt. */
  claimNotices(claim: NoticeClaim): Promise<readonly NoticeRow[]>;
  /** Deletes a delivered notification, or sets when the notification is due again. */
  resolveNotice(runId: string, seq: number, outcome: NoticeOutcome): Promise<void>;

  /** Returns the account's handle for the uploaded file with this hash; null if there is none. */
  handle(sha256: string, account: string): Promise<UploadHandleRow | null>;
  /** Stores a handle, and replaces an older handle for the same file. */
  putHandle(row: UploadHandleRow): Promise<void>;
  /** Removes the handles that have expired by this time, and returns how many there were. `dryRun` only counts them. */
  dropHandles(expiredAt: number, options?: { readonly dryRun?: boolean }): Promise<number>;
  /** Stores a step's latest progress. Progress is not an event, so it may be lost. */
  setProgress(runId: string, progress: Progress): Promise<void>;
  /** Returns the latest progress of the run's steps. */
  progress(runId: string): Promise<readonly Progress[]>;

  /** Resolves once the run has an event after `afterSeq`, written by any process. */
  waitForChange(runId: string, afterSeq: number, signal?: AbortSignal): Promise<void>;

  /** Removes a run with all its data, unless a process is working on it or money is reserved for it. */
  removeRun(runId: string, at: number): Promise<RemoveOutcome>;
  /** Returns the hashes of all media that runs use, ignoring the runs in `exceptRuns`. */
  mediaInUse(exceptRuns?: readonly string[]): Promise<ReadonlySet<string>>;
  /** Writes everything that is queued, then closes the store. After that, calls to any other method reject. */
  close(): Promise<void>;
}

/** When an engine must continue a run, and what it needs to know to do so. */
export interface Wake {
  /** When the run is due, in epoch milliseconds; null if only a message makes it due. */
  readonly at: number | null;
  /** Facts that the next process needs besides the events, such as when to poll each job. */
  readonly memo: Json;
}

/** How late a parked run may be resumed, in milliseconds. After a longer delay, it counts as interrupted. */
export const ON_TIME_MS = 10_000;

/** Selects an account's runs that are due at a certain time, the longest overdue first. */
export interface DueQuery {
  readonly account: string;
  readonly at: number;
  readonly limit: number;
}

/** Messages from webhooks and workers. */
type WorkMessage =
  /** A webhook reported that the attempt's job ended. */
  | { readonly type: "hint"; readonly step: string; readonly attempt: number }
  /** Events from work that was done without holding the run's lease. `of` identifies the work. */
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

/** A claim on the notifications due at the time `at`. Other processes do not get them before `untilAt`. */
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
  /** The facts on which the quote is based. */
  readonly basis: Json;
  readonly expiresAt: number;
  /** The run that uses the quote; null if there is none yet. */
  readonly usedBy: string | null;
}

/** Expired quotes are kept for this long, so that a message can say that the quote has expired. */
export const REMEMBERED_MS = 7 * DAY_MS;

/** A journal's quotes. Each quote can be used for one run. */
export interface QuoteStore {
  /** Stores a new quote, and removes quotes that expired more than {@link REMEMBERED_MS} before `at`. */
  issueQuote(quote: Omit<IssuedQuote, "usedBy">, at: number): Promise<void>;
  issuedQuote(id: string): Promise<IssuedQuote | null>;
  /** Assigns the quote to a run. Returns false if the quote is taken, expired or unknown. */
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

export interface LedgerTotals {
  /** Sum of holds that are neither settled nor released. */
  readonly heldMicros: number;
  readonly settledMicros: number;
}

export interface AccountTotals extends LedgerTotals {
  /**
   * Number of commits that have charged the account. If you read this number first and the balance afterwards, the
   * balance includes the charges of all these commits.
   */
  readonly mark: number;
}

/** Selects a part of an account's spending, by tag and by time. */
export interface SpendingScope {
  /** Tag (`key=value`) of the runs to include; null for all runs of the account. */
  readonly tag: string | null;
  /**
   * Start of the period, in epoch milliseconds, rounded down to the quarter hour. The date of a charge is the time when
   * its amount was reserved. Null to include everything.
   */
  readonly sinceAt: number | null;
}

export interface SpendingCap extends SpendingScope {
  /** Maximum total of spent and held money. */
  readonly capMicros: number;
  /** True if the cap is a budget that all runs with the tag share. */
  readonly isBudget?: true;
  /** The tag's key, if the cap applies to each value of the tag separately. */
  readonly anyValueOf?: string;
}

/** Limits on the account's spending that a commit must not exceed. */
export interface SpendingGuard {
  /** Spending caps to check. Caps for a tag that the run lacks are ignored. */
  readonly caps: readonly SpendingCap[];
  /**
   * The wallet's balance and floor, and the {@link AccountTotals.mark} that was read before the balance. Null if no
   * floor applies.
   */
  readonly wallet: { readonly balanceMicros: number; readonly mark: number; readonly floorMicros: number } | null;
}
