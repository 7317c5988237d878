import { isAbsolute } from "node:path";
import type { Delivery } from "./deliveries.ts";
import { encodeEvents } from "./event-codec.ts";
import type { RunEvent, StoredEvent } from "./events.ts";
import { checkCommit } from "./record.ts";
import type { ReviewLinkRow } from "./review-links.ts";
import { projectOf } from "./run-repository.ts";
import type { RunsQuery } from "./search.ts";
import { commitRun, encodeCommit, type LeaseRequest, releaseLease, renewLease, takeLease } from "./sqlite/commit.ts";
import { type Database, isBusy, packAside } from "./sqlite/database.ts";
import { accountTotals, spendingOf } from "./sqlite/ledger.ts";
import { openFile } from "./sqlite/open.ts";
import * as runs from "./sqlite/runs.ts";
import { dueRuns } from "./sqlite/runs.ts";
import * as tables from "./sqlite/side-tables.ts";
import { deliver, lastUnsorted, readInbox, readResults, sendMessage, sortResults } from "./sqlite/side-tables.ts";
import { closedError, retryWhileBusy, Writer } from "./sqlite/writer.ts";
import type {
  Commit,
  DueQuery,
  InboxMessage,
  JournalStore,
  Lease,
  LeaseHolder,
  NoticeClaim,
  NoticeOutcome,
  Progress,
  ResultsQuery,
  SpendingScope,
  UploadHandleRow,
  Wake,
} from "./store.ts";
import { Waiters } from "./waiters.ts";

export interface SqliteJournalOptions {
  /** How long a call is retried while other processes lock the file, in milliseconds. Default: 30,000. */
  readonly busyTimeoutMs?: number;
  /** Interval between polls for other processes' writes, in milliseconds. Default: 50. */
  readonly pollIntervalMs?: number;
  /** Returns the current time, which determines whether upload handles have expired. Default: `Date.now`. */
  readonly now?: () => number;
  /** True to open an existing journal for reading, without creating or migrating anything. */
  readonly readOnly?: boolean;
}

type SqliteSettings = Required<Omit<SqliteJournalOptions, "readOnly">>;

const pageRows = 1_000;

/** Opens a journal file. Creates the file and its folder if necessary. An unusable file is not changed. */
export async function openSqliteJournal(path: string, options: SqliteJournalOptions = {}): Promise<JournalStore> {
  const { busyTimeoutMs = 30_000, pollIntervalMs = 50, now = Date.now, readOnly = false } = options;
  const { db, isReadOnly, guard } = await openFile(path, { busyTimeoutMs, readOnly });
  const writer = new Writer(db, { busyTimeoutMs, path: db.path }, guard);
  return new SqliteJournal(db, writer, { busyTimeoutMs, pollIntervalMs, now }, isReadOnly);
}

export class SqliteJournal implements JournalStore {
  readonly #db: Database;
  readonly #writer: Writer;
  readonly #options: SqliteSettings;
  readonly #waiters = new Waiters();
  readonly #poll: ChangePoll;
  readonly project: string | undefined;
  readonly isReadOnly: boolean;
  #closing: Promise<void> | null = null;

  constructor(db: Database, writer: Writer, options: SqliteSettings, isReadOnly = false) {
    this.#db = db;
    this.isReadOnly = isReadOnly;
    this.project = isAbsolute(db.path) ? projectOf(db.path) : undefined;
    this.#writer = writer;
    this.#options = options;
    this.#poll = new ChangePoll(db, this.#waiters, options.pollIntervalMs);
  }

  async createRun(runId: string, first: RunEvent & { readonly type: "run.planned" }, at: number, wake?: Wake) {
    const body = packAside(encodeEvents([first]));
    await this.#writer.writeReady(body, (packed) =>
      runs.createRun(this.#db, runId, { event: first, body: packed }, { at, wake }),
    );
  }

  run(runId: string) {
    return this.#read(() => runs.runRow(this.#db, runId));
  }

  runs(query: RunsQuery = {}) {
    return this.#read(() => runs.newestRuns(this.#db, query));
  }

  async read(runId: string, options: { readonly afterSeq?: number; readonly limit?: number } = {}) {
    const { afterSeq = 0, limit = Number.MAX_SAFE_INTEGER } = options;
    const events: StoredEvent[] = [];
    while (events.length < limit) {
      const lastSeq = events.at(-1)?.seq ?? afterSeq;
      const rows = Math.min(pageRows, limit - events.length);
      const page = await this.#read(() => runs.readEvents(this.#db, runId, lastSeq, rows));
      for (const event of page) events.push(event);
      if (page.length < rows) break;
      await new Promise((resolve) => setImmediate(resolve));
    }
    return events.length > limit ? events.slice(0, limit) : events;
  }

  snapshot(runId: string) {
    return this.#read(() => runs.readSnapshot(this.#db, runId));
  }

  async takeLease(runId: string, holder: LeaseHolder, request: LeaseRequest) {
    const outcome = await this.#writer.write(() => takeLease(this.#db, runId, holder, request));
    if (outcome.acquired) this.#waiters.notify(runId);
    return outcome;
  }

  renewLease(lease: Lease, { at, ttlMs }: { readonly at: number; readonly ttlMs: number }) {
    return this.#writer.write(() => renewLease(this.#db, lease, at + ttlMs), { durable: false });
  }

  releaseLease(lease: Lease) {
    return this.#writer.write(() => releaseLease(this.#db, lease), { durable: false });
  }

  async commit(commit: Commit & { readonly status: string }) {
    checkCommit(commit);
    const outcome = await this.#writer.writeReady(encodeCommit(commit), (encoded) => commitRun(this.#db, encoded));
    this.#waiters.notify(commit.lease.runId);
    return outcome;
  }

  dueRuns(query: DueQuery) {
    return this.#read(() => dueRuns(this.#db, query));
  }

  async send(runId: string, message: InboxMessage, at: number) {
    const id = await this.#writer.write(() => sendMessage(this.#db, runs.requireKey(this.#db, runId), message, at));
    this.#waiters.notify(runId);
    return id;
  }

  async deliver(delivery: Delivery) {
    const delivered = await this.#writer.write(() => deliver(this.#db, delivery), { durable: false });
    for (const runId of delivered.runIds) this.#waiters.notify(runId);
    return delivered;
  }

  inbox(runId: string) {
    return this.#read(() => readInbox(this.#db, runId));
  }

  ledger(runId: string) {
    return this.#read(() => runs.requireRun(this.#db, runId).ledger);
  }

  accountLedger(account: string) {
    return this.#read(() => accountTotals(this.#db, account));
  }

  spending(account: string, scope: SpendingScope) {
    return this.#read(() => spendingOf(this.#db, account, scope));
  }

  async results(query: ResultsQuery, limit = 20) {
    // Do not wait for results that are recorded from now on.
    const upTo = "fingerprint" in query || "step" in query ? await this.#read(() => lastUnsorted(this.#db)) : null;
    for (let isDone = upTo === null; !isDone; ) {
      isDone = await this.#writer.write(() => sortResults(this.#db, upTo!), { durable: false });
    }
    return this.#read(() => readResults(this.#db, query, limit));
  }

  notices() {
    return this.#read(() => tables.readNotices(this.#db));
  }

  async claimNotices(claim: NoticeClaim) {
    if (!(await this.#read(() => tables.hasDueNotices(this.#db, claim.at)))) return [];
    return this.#writer.write(() => tables.claimNotices(this.#db, claim), { durable: false });
  }

  resolveNotice(runId: string, seq: number, outcome: NoticeOutcome) {
    return this.#writer.write(() => tables.resolveNotice(this.#db, runId, seq, outcome), { durable: false });
  }

  handle(sha256: string, account: string) {
    return this.#read(() => tables.readHandle(this.#db, sha256, account));
  }

  putHandle(row: UploadHandleRow) {
    return this.#writer.write(() => tables.writeHandle(this.#db, row, this.#options.now()), { durable: false });
  }

  dropHandles(expiredAt: number, { dryRun = false }: { readonly dryRun?: boolean } = {}) {
    return this.#writer.write(() => tables.dropHandles(this.#db, expiredAt, dryRun), { durable: false });
  }

  addReviewLink(link: ReviewLinkRow) {
    return this.#writer.write(() => tables.addReviewLink(this.#db, link));
  }

  reviewLink(id: string) {
    return this.#read(() => tables.readReviewLink(this.#db, id));
  }

  reviewLinks() {
    return this.#read(() => tables.readReviewLinks(this.#db));
  }

  revokeReviewLink(id: string, at: number) {
    return this.#writer.write(() => tables.revokeReviewLink(this.#db, id, at));
  }

  useReviewLink(id: string, at: number) {
    return this.#writer.write(() => tables.useReviewLink(this.#db, id, at));
  }

  issueQuote(...[quote, at]: Parameters<JournalStore["issueQuote"]>) {
    return this.#writer.write(() => tables.issueQuote(this.#db, quote, at));
  }
  issuedQuote(id: string) {
    return this.#read(() => tables.readQuote(this.#db, id));
  }
  useQuote(id: string, runId: string, at: number) {
    return this.#writer.write(() => tables.useQuote(this.#db, id, runId, at));
  }

  setProgress(runId: string, progress: Progress) {
    return this.#writer.write(() => tables.writeProgress(this.#db, runId, progress), { durable: false });
  }

  progress(runId: string) {
    return this.#read(() => tables.readProgress(this.#db, runId));
  }

  waitForChange(runId: string, afterSeq: number, signal?: AbortSignal) {
    return this.#wait(runId, () => runs.requireRun(this.#db, runId).lastSeq > afterSeq, signal);
  }

  async removeRun(runId: string, at: number) {
    const outcome = await this.#writer.write(() => runs.removeRun(this.#db, runId, at));
    if (outcome.removed) this.#waiters.notify(runId);
    return outcome;
  }

  mediaInUse(exceptRuns: readonly string[] = []) {
    return this.#read(() => tables.mediaInUse(this.#db, exceptRuns));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#poll.stop();
    this.#waiters.failAll(closedError(this.#db.path));
    await this.#writer.close();
    this.#db.close();
  }

  async #read<T>(query: () => T): Promise<T> {
    const attempt = () => {
      if (this.#closing !== null) throw closedError(this.#db.path);
      return query();
    };
    return retryWhileBusy(attempt, { busyTimeoutMs: this.#options.busyTimeoutMs, path: this.#db.path });
  }

  async #wait(runId: string, ready: () => boolean, signal?: AbortSignal): Promise<void> {
    await this.#read(() => runs.requireKey(this.#db, runId));
    const waiting = this.#waiters.wait(runId, () => this.#unlessBusy(ready), signal);
    if (this.#waiters.size > 0) this.#poll.start();
    await waiting;
  }

  #unlessBusy(ready: () => boolean): boolean {
    try {
      return ready();
    } catch (error) {
      if (!isBusy(error)) throw error;
      this.#poll.recheck();
      return false;
    }
  }
}

/** Wakes waiting calls when other processes write, by polling SQLite's change counter. */
export class ChangePoll {
  readonly #db: Database;
  readonly #waiters: Waiters;
  readonly #intervalMs: number;
  #timer: NodeJS.Timeout | null = null;
  #seen = 0;
  #dirty = false;

  constructor(db: Database, waiters: Waiters, intervalMs: number) {
    this.#db = db;
    this.#waiters = waiters;
    this.#intervalMs = intervalMs;
  }

  start(): void {
    if (this.#timer !== null) return;
    this.#seen = this.#version();
    // Notify once now, because something may have been written since the caller's read.
    this.#waiters.notifyAll();
    this.#timer = setInterval(() => this.#look(), this.#intervalMs);
  }

  /** Makes the next poll wake all waiting calls, even if nothing was written. */
  recheck(): void {
    this.#dirty = true;
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #look(): void {
    if (this.#waiters.size === 0) return this.stop();
    const version = this.#version();
    if (version === this.#seen && !this.#dirty) return;
    this.#dirty = false;
    this.#seen = version;
    this.#waiters.notifyAll();
  }

  #version(): number {
    try {
      return this.#db.columns.integer(this.#db.get("PRAGMA data_version") ?? {}, "data_version");
    } catch {
      return this.#seen;
    }
  }
}
