import type { Row } from "./columns.ts";
import type { Delivery } from "./deliveries.ts";
import { RunUnknownError } from "./errors.ts";
import type { RunEvent, StoredEvent } from "./events.ts";
import { ChangeFeed } from "./postgres/change-feed.ts";
import { closedError, Database, loadDriver } from "./postgres/database.ts";
import {
  databaseClock,
  type LeaseClock,
  type LeaseRequest,
  releaseLease,
  renewLease,
  SharedClock,
  takeLease,
} from "./postgres/leases.ts";
import { prepareSchema } from "./postgres/migrate.ts";
import * as runs from "./postgres/runs.ts";
import { type PostgresJournalOptions, readSettings } from "./postgres/settings.ts";
import * as tables from "./postgres/side-tables.ts";
import { encodeCommit, WriteQueue } from "./postgres/write-queue.ts";
import { checkCommit } from "./record.ts";
import type { ReviewLinkRow } from "./review-links.ts";
import type { RunsQuery } from "./search.ts";
import { guarded } from "./spend-guard.ts";
import type {
  Commit,
  CommitOutcome,
  DueQuery,
  InboxMessage,
  IssuedQuote,
  JournalStore,
  Lease,
  LeaseHolder,
  NoticeClaim,
  NoticeOutcome,
  Progress,
  ResultsQuery,
  SpendingCap,
  SpendingScope,
  UploadHandleRow,
  Wake,
} from "./store.ts";

const pageRows = 1_000;

/** Opens a journal in PostgreSQL 15 or later. Creates or migrates the tables if necessary. */
export async function openPostgresJournal(
  location: string,
  options: PostgresJournalOptions = {},
  clock?: LeaseClock,
): Promise<JournalStore> {
  const settings = readSettings(location, options);
  const db = new Database(await loadDriver(settings.place), settings);
  const shared = new SharedClock(db);
  try {
    await prepareSchema(db);
    await shared.measure();
    db.noteOpened();
  } catch (error) {
    await db.close();
    throw error;
  }
  return new PostgresJournal(db, shared, clock ?? databaseClock(() => shared.now()));
}

class PostgresJournal implements JournalStore {
  readonly #db: Database;
  readonly #shared: SharedClock;
  readonly #clock: LeaseClock;
  readonly #writes: WriteQueue;
  readonly #feed: ChangeFeed;
  #closing: Promise<void> | null = null;

  constructor(db: Database, shared: SharedClock, clock: LeaseClock) {
    this.#db = db;
    this.#shared = shared;
    this.#clock = clock;
    this.#writes = new WriteQueue(db);
    this.#feed = new ChangeFeed(db);
  }

  clockOffsetMs(): number {
    return this.#shared.offsetMs;
  }

  async createRun(runId: string, first: RunEvent & { readonly type: "run.planned" }, at: number, wake?: Wake) {
    await runs.createRun(this.#open, this.#writes, runId, first, { at, wake });
  }

  async run(runId: string) {
    return runs.runRow(this.#open, this.#clock, runId);
  }

  async runs(query: RunsQuery = {}) {
    return runs.newestRuns(this.#open, this.#clock, query);
  }

  async read(
    runId: string,
    options: { readonly afterSeq?: number; readonly limit?: number } = {},
  ): Promise<readonly StoredEvent[]> {
    const { afterSeq = 0, limit = Number.MAX_SAFE_INTEGER } = options;
    const events: StoredEvent[] = [];
    let runKey: number | null = null;
    for (;;) {
      const rows = Math.min(pageRows, limit - events.length);
      const page = await runs.readEvents(this.#open, runId, events.at(-1)?.seq ?? afterSeq, rows);
      // The run was removed and created again between two pages.
      if (runKey !== null && page.key !== runKey) return this.read(runId, options);
      runKey = page.key;
      for (const event of page.events) events.push(event);
      if (page.rows < rows || events.length >= limit) return events.length > limit ? events.slice(0, limit) : events;
    }
  }

  async snapshot(runId: string) {
    return runs.readSnapshot(this.#open, runId);
  }

  async takeLease(runId: string, holder: LeaseHolder, request: LeaseRequest) {
    const outcome = await takeLease(this.#open, this.#writes, this.#clock, runId, holder, request);
    if (outcome.acquired) this.#feed.changed(runId, outcome.event.seq);
    return outcome;
  }

  async renewLease(lease: Lease, { at, ttlMs }: { readonly at: number; readonly ttlMs: number }) {
    return renewLease(this.#open, this.#clock, lease, at, ttlMs);
  }

  async releaseLease(lease: Lease) {
    await releaseLease(this.#open, lease);
    this.#writes.forget(lease.runId);
  }

  async commit(commit: Commit & { readonly status: string }) {
    checkCommit(commit);
    const outcome = await commitRun(this.#open, this.#writes, this.#clock, commit);
    if (outcome.committed && commit.events.length > 0) this.#feed.changed(commit.lease.runId, outcome.lastSeq);
    return outcome;
  }

  async dueRuns(query: DueQuery) {
    await this.#shared.measure();
    return runs.dueRuns(this.#open, query);
  }

  async send(runId: string, message: InboxMessage, at: number) {
    return tables.sendMessage(this.#open, this.#feed.channel, runId, message, at);
  }

  async deliver(delivery: Delivery) {
    return tables.deliver(this.#open, this.#feed.channel, delivery);
  }

  async inbox(runId: string) {
    return tables.readInbox(this.#open, runId);
  }

  async ledger(runId: string) {
    return runs.runLedger(this.#open, runId);
  }

  async accountLedger(account: string) {
    return tables.accountTotals(this.#open, account);
  }

  async spending(account: string, scope: SpendingScope) {
    return tables.spendingOf(this.#open, account, scope);
  }

  async results(query: ResultsQuery, limit = 20) {
    return tables.readResults(this.#open, query, limit);
  }

  async notices() {
    return tables.readNotices(this.#open);
  }

  async claimNotices(claim: NoticeClaim) {
    return tables.claimNotices(this.#open, claim);
  }

  async resolveNotice(runId: string, seq: number, outcome: NoticeOutcome) {
    return tables.resolveNotice(this.#open, runId, seq, outcome);
  }

  async handle(sha256: string, account: string) {
    return tables.readHandle(this.#open, sha256, account);
  }

  async putHandle(row: UploadHandleRow) {
    return tables.writeHandle(this.#open, row, this.#shared.now());
  }

  async dropHandles(expiredAt: number, { dryRun = false }: { readonly dryRun?: boolean } = {}) {
    return tables.dropHandles(this.#open, expiredAt, dryRun);
  }

  async addReviewLink(link: ReviewLinkRow) {
    await tables.addReviewLink(this.#open, link);
  }

  async reviewLink(id: string) {
    return tables.readReviewLink(this.#open, id);
  }

  async reviewLinks() {
    return tables.readReviewLinks(this.#open);
  }

  async revokeReviewLink(id: string, at: number) {
    await tables.revokeReviewLink(this.#open, id, at);
  }

  async useReviewLink(id: string, at: number) {
    return tables.useReviewLink(this.#open, id, at);
  }

  async issueQuote(quote: Omit<IssuedQuote, "usedBy">, at: number) {
    await tables.issueQuote(this.#open, quote, at);
  }

  async issuedQuote(id: string) {
    return tables.readQuote(this.#open, id);
  }

  async useQuote(id: string, runId: string, at: number) {
    return tables.useQuote(this.#open, id, runId, at);
  }

  async setProgress(runId: string, progress: Progress) {
    return tables.writeProgress(this.#open, runId, progress);
  }

  async progress(runId: string) {
    return tables.readProgress(this.#open, runId);
  }

  async waitForChange(runId: string, afterSeq: number, signal?: AbortSignal) {
    this.#checkOpen();
    await this.#feed.wait(runId, afterSeq, signal);
  }

  async removeRun(runId: string, at: number) {
    const outcome = await runs.removeRun(this.#open, this.#clock, runId, at);
    if (outcome.removed) this.#feed.changed(runId, null);
    return outcome;
  }

  async mediaInUse(exceptRuns: readonly string[] = []) {
    return tables.mediaInUse(this.#open, exceptRuns);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#writes.drained();
    await this.#feed.close(closedError(this.#db.place));
    await this.#db.close();
  }

  get #open(): Database {
    this.#checkOpen();
    return this.#db;
  }

  #checkOpen(): void {
    if (this.#closing !== null) throw closedError(this.#db.place);
  }
}

type FullCommit = Commit & { readonly status: string };

function commitRun(db: Database, writes: WriteQueue, clock: LeaseClock, commit: FullCommit): Promise<CommitOutcome> {
  const wire = { ...encodeCommit(commit), ...clock.forWrite() };
  return writes.add(wire, (row) => {
    const outcome = outcomeOf(db, clock, commit, row);
    if (outcome.committed && outcome.lease !== null) writes.note(wire.run, wire.epoch, wire.write);
    else if (outcome.committed || outcome.reason === "fenced") writes.forget(wire.run);
    return outcome;
  });
}

function outcomeOf({ columns, place }: Database, clock: LeaseClock, commit: FullCommit, row: Row): CommitOutcome {
  const outcome = columns.text(row, "outcome");
  const all = row.committed === null ? [] : (columns.json(row, "committed") as readonly number[]);
  switch (outcome) {
    case "committed": {
      const expiresAt = clock.expiryOf(columns.integer(row, "lease_left"));
      const lease = commit.park === true ? null : { ...commit.lease, expiresAt };
      const [lastSeq, tail] = [columns.integer(row, "last_seq"), columns.integer(row, "tail")];
      return { committed: true, lastSeq, tail, lease, committedMicros: all };
    }
    case "fenced":
    case "inbox":
      return { committed: false, reason: outcome };
    case "money": {
      const unseen = columns.integerOrNull(row, "unseen_micros") ?? 0;
      const { refused } = guarded(commit, () => ({
        committedMicros: (cap) => all[commit.guard!.caps.indexOf(cap as SpendingCap)]!,
        unseenMicros: () => unseen,
      }));
      return refused!;
    }
    default:
      throw new RunUnknownError(commit.lease.runId, place);
  }
}
