import {
  DELIVERIES_KEPT_MS,
  type Delivery,
  type DeliveryOutcome,
  jobsOf,
  type KnownJob,
} from "../../../src/core/journal/deliveries.ts";
import { JournalClosedError, RunExistsError, RunUnknownError } from "../../../src/core/journal/errors.ts";
import {
  decodeEvents,
  type EventRecord,
  encodeEvents,
  type RecordOrigin,
} from "../../../src/core/journal/event-codec.ts";
import type { LedgerChange } from "../../../src/core/journal/events/spec.ts";
import { EVENT_VERSION, type RunEvent } from "../../../src/core/journal/events.ts";
import {
  accountOf,
  changeLedger,
  checkCommit,
  emptyEntry,
  entryChange,
  type LedgerEntry,
  type LedgerMoment,
  leaseAcquired,
  leaseEvent,
  mediaOf,
  movedTo,
} from "../../../src/core/journal/record.ts";
import { LISTED_MS, type ReviewLinkRow } from "../../../src/core/journal/review-links.ts";
import type { RunsQuery } from "../../../src/core/journal/search.ts";
import { type AccountMoney, guarded, isSince, unseenOf } from "../../../src/core/journal/spend-guard.ts";
import {
  type AccountTotals,
  type Commit,
  type CommitOutcome,
  type DueQuery,
  type InboxEntry,
  type InboxMessage,
  type IssuedQuote,
  type JournalStore,
  type Lease,
  type LeaseHolder,
  type LeaseOutcome,
  type LedgerTotals,
  type NoticeClaim,
  type NoticeOutcome,
  type NoticeRow,
  ON_TIME_MS,
  type Progress,
  REMEMBERED_MS,
  type RemoveOutcome,
  type ResultsQuery,
  type RunRow,
  type SpendingScope,
  type StoredResult,
  type UploadHandleRow,
  type Wake,
} from "../../../src/core/journal/store.ts";
import { Waiters } from "../../../src/core/journal/waiters.ts";
import { tagTexts } from "../../../src/core/kit/tags.ts";

interface MemoryRun {
  account: string;
  readonly order: number;
  row: Omit<RunRow, "lease" | "account" | "wakeAt">;
  /** All texts of the run in lower case, for search. */
  readonly found: string;
  records: EventRecord[];
  epoch: number;
  holder: LeaseHolder | null;
  leaseExpiresAt: number;
  snapshot: string | null;
  /** The wake of a run that an engine drives, as JSON. */
  wake: string | null;
  inbox: InboxEntry[];
  readonly jobs: Map<string, KnownJob>;
  ledger: Map<string, LedgerEntry>;
  progress: Map<string, Progress>;
  results: Map<string, StoredResult>;
  notices: Map<number, NoticeRow>;
}

/** A second implementation of the journal with plain maps, with which random operations on SQLite are compared. */
export function createReferenceJournal(options: { readonly now?: () => number } = {}): JournalStore {
  return new ReferenceJournal(options.now ?? Date.now);
}

const place = "memory";

class ReferenceJournal implements JournalStore {
  readonly #now: () => number;
  readonly #runs = new Map<string, MemoryRun>();
  readonly #links = new Map<string, ReviewLinkRow>();
  readonly #quotes = new Map<string, IssuedQuote>();
  readonly #handles = new Map<string, UploadHandleRow>();
  readonly #deliveries = new Map<
    string,
    { readonly jobId: string; readonly account: string; readonly at: number; waiting: boolean }
  >();
  readonly #marks = new Map<string, number>();
  /** Ledgers of removed runs, with the runs' accounts and tags. */
  readonly #removed: Pick<MemoryRun, "account" | "ledger" | "row">[] = [];
  readonly #waiters = new Waiters();
  #lastInboxId = 0;
  #lastOrder = 0;
  #closed = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  async createRun(runId: string, first: RunEvent & { readonly type: "run.planned" }, at: number, wake?: Wake) {
    this.#open();
    if (this.#runs.has(runId)) throw new RunExistsError(runId);
    const times = { createdAt: at, updatedAt: at, resumeAt: null };
    const row = {
      ...times,
      runId,
      pipeline: first.plan.pipeline,
      title: first.title ?? null,
      lastSeq: 0,
      status: "planned",
      tags: first.tags ?? {},
    };
    const run: MemoryRun = {
      account: accountOf(first),
      order: ++this.#lastOrder,
      row,
      found: [...Object.values(row), ...Object.entries(row.tags).map((tag) => tag.join("=")), ...leaves(first.input)]
        .join(" ")
        .toLowerCase(),
      records: [],
      epoch: 0,
      holder: null,
      leaseExpiresAt: 0,
      snapshot: null,
      wake: wake === undefined ? null : JSON.stringify(wake),
      inbox: [],
      jobs: new Map(),
      ledger: new Map(),
      progress: new Map(),
      results: new Map(),
      notices: new Map(),
    };
    append(run, [encodeEvents([first])], at);
    this.#runs.set(runId, run);
  }

  async run(runId: string): Promise<RunRow | null> {
    this.#open();
    const run = this.#runs.get(runId);
    return run === undefined ? null : rowOf(run);
  }

  async runs(options: RunsQuery = {}) {
    this.#open();
    const words = (options.search ?? "").toLowerCase().split(/\s+/);
    const before = options.before ?? Number.POSITIVE_INFINITY;
    const wanted = Object.entries(options.tags ?? {});
    return [...this.#runs.values()]
      .filter((run) => run.row.createdAt < before && wanted.every(([key, value]) => run.row.tags[key] === value))
      .filter(({ found }) => words.every((word) => found.includes(word)))
      .sort((a, b) => b.row.createdAt - a.row.createdAt || b.order - a.order)
      .slice(0, options.limit)
      .map(rowOf);
  }

  async read(runId: string, options: { readonly afterSeq?: number; readonly limit?: number } = {}) {
    const { records } = this.#find(runId);
    const from = options.afterSeq ?? 0;
    const to = options.limit === undefined ? undefined : from + options.limit;
    return decodeEvents(records.slice(from, to), from, originOf(runId));
  }

  async snapshot(runId: string) {
    const { snapshot } = this.#find(runId);
    return snapshot === null ? null : JSON.parse(snapshot);
  }

  async takeLease(
    runId: string,
    holder: LeaseHolder,
    options: { readonly at: number; readonly ttlMs: number; readonly isDead: (holder: LeaseHolder) => boolean },
  ): Promise<LeaseOutcome> {
    const run = this.#find(runId);
    const { at, ttlMs, isDead } = options;
    if (run.holder !== null && at <= run.leaseExpiresAt && !isDead(run.holder)) {
      return { acquired: false, heldBy: run.holder, expiresAt: run.leaseExpiresAt };
    }
    run.epoch += 1;
    run.holder = holder;
    run.leaseExpiresAt = at + ttlMs;
    const wake = wakeOf(run);
    const parked = (wake?.memo ?? null) !== null && wake!.at !== null && at <= wake!.at + ON_TIME_MS;
    append(run, [encodeEvents([leaseAcquired(run.epoch, holder, { parked })])], at);
    this.#waiters.notify(runId);
    if (wake !== null) run.wake = JSON.stringify({ ...wake, memo: null });
    const lease = leaseOf(run);
    const event = leaseEvent({ lease, holder, seq: run.row.lastSeq, at, parked });
    const tail = event.seq - ((await this.snapshot(runId))?.seq ?? 0);
    return { acquired: true, lease, event, memo: wake?.memo ?? null, hasMail: run.inbox.length > 0, tail };
  }

  async renewLease(lease: Lease, options: { readonly at: number; readonly ttlMs: number }): Promise<boolean> {
    const run = this.#find(lease.runId);
    if (!holds(run, lease)) return false;
    run.leaseExpiresAt = options.at + options.ttlMs;
    return true;
  }

  async releaseLease(lease: Lease): Promise<void> {
    const run = this.#find(lease.runId);
    if (holds(run, lease)) run.holder = null;
  }

  async commit(commit: Commit & { readonly status: string }): Promise<CommitOutcome> {
    checkCommit(commit);
    const { runId } = commit.lease;
    const run = this.#find(runId);
    const bodies = commit.events.map((event) => encodeEvents([event]));
    if (!holds(run, commit.lease) || run.row.lastSeq !== commit.afterSeq) return { committed: false, reason: "fenced" };
    const consumed = new Set(commit.inbox);
    const left = run.inbox.filter((entry) => !consumed.has(entry.id));
    if (commit.park && left.length > 0) return { committed: false, reason: "inbox" };
    const changes = commit.ledger ?? [];
    const brings = changes.some(({ type }) => type === "charged" || type === "settle") ? 1 : 0;
    const mark = this.#mark(run.account) + brings;
    const ledger = changedEntries(run, changes, { at: commit.at, mark });
    const { refused, committedMicros } = guarded(commit, () => this.#moneyAfter(run, ledger));
    if (refused !== null) return refused;

    run.inbox = left;
    append(run, bodies, commit.at);
    run.row = { ...run.row, status: commit.status, resumeAt: commit.resumeAt ?? null };
    for (const [key, entry] of ledger) run.ledger.set(key, entry);
    this.#marks.set(run.account, mark);
    for (const results of commit.results ?? [])
      run.results.set(results.step, { ...results, runId, account: run.account, at: commit.at });
    const account = movedTo(commit.events);
    if (account !== null) moveAccount(run, account);
    for (const notice of commit.notices ?? []) {
      run.notices.set(notice.seq, { ...notice, runId, attempts: 0, dueAt: commit.at, lastError: null });
    }
    if (commit.snapshot !== undefined) run.snapshot = JSON.stringify(commit.snapshot);
    if (commit.park) {
      run.holder = null;
      const wake = commit.wake ?? (run.wake === null ? null : { at: null, memo: null });
      run.wake = wake === null ? null : JSON.stringify(wake);
    }
    for (const job of jobsOf(commit.events)) {
      run.jobs.set(`${job.attempt} ${job.step}`, job);
      for (const early of this.#deliveries.values()) {
        if (!early.waiting || early.jobId !== job.jobId || early.account !== run.account) continue;
        early.waiting = false;
        await this.#hint(run, job, commit.at);
      }
    }
    this.#waiters.notify(runId);
    const { lastSeq } = run.row;
    const tail = lastSeq - ((await this.snapshot(runId))?.seq ?? 0);
    return { committed: true, lastSeq, tail, lease: commit.park ? null : leaseOf(run), committedMicros };
  }

  async dueRuns({ account, at, limit }: DueQuery): Promise<readonly string[]> {
    this.#open();
    const due = this.#runsOf(account).flatMap((run) => {
      const wakeAt = wakeOf(run)?.at ?? null;
      return wakeAt === null || wakeAt > at ? [] : [{ run, wakeAt }];
    });
    due.sort((a, b) => a.wakeAt - b.wakeAt || a.run.order - b.run.order);
    return due.slice(0, limit).map(({ run }) => run.row.runId);
  }

  async send(runId: string, message: InboxMessage, at: number): Promise<number> {
    const run = this.#find(runId);
    const id = this.#deliver(run, message, at);
    const wake = wakeOf(run);
    if (wake !== null) run.wake = JSON.stringify({ ...wake, at: Math.min(wake.at ?? at, at) });
    this.#waiters.notify(runId);
    return id;
  }

  async deliver({ account, id, jobId, at }: Delivery): Promise<DeliveryOutcome> {
    this.#open();
    const name = `${account} ${id}`;
    for (const [old, { at: of }] of this.#deliveries) if (of < at - DELIVERIES_KEPT_MS) this.#deliveries.delete(old);
    const known = this.#deliveries.get(name) ?? { jobId, account, at, waiting: true };
    this.#deliveries.set(name, known);
    if (!known.waiting) return { outcome: "repeated", runIds: [] };
    const runs = this.#runsOf(account).filter((run) => [...run.jobs.values()].some((job) => job.jobId === jobId));
    if (runs.length === 0) return { outcome: "early", runIds: [] };
    known.waiting = false;
    for (const run of runs)
      for (const job of run.jobs.values()) if (job.jobId === jobId) await this.#hint(run, job, at);
    return { outcome: "delivered", runIds: runs.map(({ row }) => row.runId) };
  }

  #hint({ row: { runId } }: MemoryRun, { step, attempt }: KnownJob, at: number): Promise<number> {
    return this.send(runId, { type: "hint", step, attempt }, at);
  }

  async inbox(runId: string): Promise<readonly InboxEntry[]> {
    return [...this.#find(runId).inbox];
  }

  async ledger(runId: string): Promise<LedgerTotals> {
    return totals([this.#find(runId)]);
  }

  async accountLedger(account: string): Promise<AccountTotals> {
    this.#open();
    return { ...totals(this.#runsOf(account)), mark: this.#mark(account) };
  }

  async spending(account: string, scope: SpendingScope): Promise<LedgerTotals> {
    this.#open();
    if (scope.tag === null && scope.sinceAt === null) return totals(this.#runsOf(account));
    let [heldMicros, settledMicros] = [0, 0];
    for (const run of [...this.#runsOf(account), ...this.#removed.filter((one) => one.account === account)]) {
      for (const entry of counted(run, scope)) {
        heldMicros += entry.heldMicros;
        settledMicros += entry.settledMicros;
      }
    }
    return { heldMicros, settledMicros };
  }

  async results(query: ResultsQuery, limit = 20): Promise<readonly StoredResult[]> {
    this.#open();
    return [...this.#runs.values()]
      .flatMap((run) =>
        [...run.results.values()].filter((row) => asks(query, run.account, row)).map((row) => ({ run, row })),
      )
      .sort((a, b) => b.row.at - a.row.at || b.run.order - a.run.order || (a.row.step < b.row.step ? -1 : 1))
      .slice(0, limit)
      .map(({ row }) => row);
  }

  async notices(): Promise<readonly NoticeRow[]> {
    this.#open();
    return [...this.#runs.values()]
      .flatMap((run) => [...run.notices.values()].map((row) => ({ run, row })))
      .sort((a, b) => a.row.dueAt - b.row.dueAt || a.run.order - b.run.order || a.row.seq - b.row.seq)
      .map(({ row }) => row);
  }

  async claimNotices({ at, untilAt, limit }: NoticeClaim): Promise<readonly NoticeRow[]> {
    const due = (await this.notices()).filter(({ dueAt }) => dueAt <= at).slice(0, limit);
    return due.map((row) => {
      const claimed = { ...row, attempts: row.attempts + 1, dueAt: untilAt };
      this.#runs.get(row.runId)?.notices.set(row.seq, claimed);
      return claimed;
    });
  }

  async resolveNotice(runId: string, seq: number, outcome: NoticeOutcome): Promise<void> {
    this.#open();
    const notices = this.#runs.get(runId)?.notices;
    const row = notices?.get(seq);
    if (notices === undefined || row === undefined) return;
    if (outcome.delivered) notices.delete(seq);
    else notices.set(seq, { ...row, dueAt: outcome.dueAt, lastError: outcome.error });
  }

  async handle(sha256: string, account: string): Promise<UploadHandleRow | null> {
    this.#open();
    return this.#handles.get(`${sha256} ${account}`) ?? null;
  }

  async putHandle(row: UploadHandleRow): Promise<void> {
    this.#open();
    const now = this.#now();
    for (const [key, { expiresAt }] of this.#handles) if (expiresAt <= now) this.#handles.delete(key);
    this.#handles.set(`${row.sha256} ${row.account}`, { ...row });
  }

  async dropHandles(expiredAt: number, { dryRun = false }: { readonly dryRun?: boolean } = {}): Promise<number> {
    this.#open();
    const expired = [...this.#handles].filter(([, row]) => row.expiresAt <= expiredAt);
    if (!dryRun) for (const [key] of expired) this.#handles.delete(key);
    return expired.length;
  }

  async addReviewLink(link: ReviewLinkRow): Promise<void> {
    this.#open();
    for (const { id, expiresAt } of this.#links.values()) {
      if (expiresAt < link.createdAt - LISTED_MS) this.#links.delete(id);
    }
    this.#links.set(link.id, structuredClone(link));
  }

  async reviewLink(id: string): Promise<ReviewLinkRow | null> {
    return structuredClone(this.#links.get(id) ?? null);
  }

  async reviewLinks(): Promise<readonly ReviewLinkRow[]> {
    return [...this.#links.values()].sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1));
  }

  async revokeReviewLink(id: string, at: number): Promise<void> {
    const link = this.#links.get(id);
    if (link?.revokedAt === null) this.#links.set(id, { ...link, revokedAt: at });
  }

  async useReviewLink(id: string, at: number): Promise<boolean> {
    const link = this.#links.get(id);
    if (link === undefined || link.revokedAt !== null || link.expiresAt <= at || link.uses >= link.maxUses)
      return false;
    this.#links.set(id, { ...link, uses: link.uses + 1 });
    return true;
  }

  async issueQuote(quote: Omit<IssuedQuote, "usedBy">, at: number): Promise<void> {
    this.#open();
    for (const { id, expiresAt } of this.#quotes.values()) {
      if (expiresAt < at - REMEMBERED_MS) this.#quotes.delete(id);
    }
    this.#quotes.set(quote.id, structuredClone({ ...quote, usedBy: null }));
  }

  async issuedQuote(id: string): Promise<IssuedQuote | null> {
    return structuredClone(this.#quotes.get(id) ?? null);
  }

  async useQuote(id: string, runId: string, at: number): Promise<boolean> {
    const quote = this.#quotes.get(id);
    const isFree = quote !== undefined && quote.usedBy === null && quote.expiresAt > at;
    if (quote === undefined || (!isFree && quote.usedBy !== runId)) return false;
    this.#quotes.set(id, { ...quote, usedBy: runId });
    return true;
  }

  async setProgress(runId: string, progress: Progress): Promise<void> {
    this.#find(runId).progress.set(progress.step, { ...progress });
  }

  async progress(runId: string): Promise<readonly Progress[]> {
    return [...this.#find(runId).progress.values()].sort((a, b) => (a.step < b.step ? -1 : 1));
  }

  async waitForChange(runId: string, afterSeq: number, signal?: AbortSignal): Promise<void> {
    this.#find(runId);
    await this.#waiters.wait(runId, () => this.#find(runId).row.lastSeq > afterSeq, signal);
  }

  async removeRun(runId: string, at: number): Promise<RemoveOutcome> {
    this.#open();
    const run = this.#runs.get(runId);
    if (run === undefined) return { removed: false, reason: "unknown" };
    if (run.holder !== null && at <= run.leaseExpiresAt) return { removed: false, reason: "leased" };
    if (totals([run]).heldMicros > 0) return { removed: false, reason: "holds" };
    this.#runs.delete(runId);
    this.#removed.push(run);
    this.#waiters.notify(runId);
    return { removed: true };
  }

  async mediaInUse(exceptRuns: readonly string[] = []): Promise<ReadonlySet<string>> {
    this.#open();
    const inUse = new Set<string>();
    for (const [runId, run] of this.#runs) {
      if (exceptRuns.includes(runId)) continue;
      for (const { event } of decodeEvents(run.records, 0, originOf(runId))) {
        for (const sha256 of mediaOf(event)) inUse.add(sha256);
      }
    }
    return inUse;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#waiters.failAll(closed());
  }

  #open(): void {
    if (this.#closed) throw closed();
  }

  #find(runId: string): MemoryRun {
    this.#open();
    const run = this.#runs.get(runId);
    if (run === undefined) throw new RunUnknownError(runId, place);
    return run;
  }

  #mark(account: string): number {
    return this.#marks.get(account) ?? 0;
  }

  #runsOf(account: string): readonly MemoryRun[] {
    return [...this.#runs.values()].filter((run) => run.account === account);
  }

  #moneyAfter(changed: MemoryRun, ledger: ReadonlyMap<string, LedgerEntry>): AccountMoney {
    const entries = this.#runsOf(changed.account).flatMap((run) => [
      ...(run === changed ? new Map([...run.ledger, ...ledger]) : run.ledger).values(),
    ]);
    const sum = (some: readonly LedgerEntry[]) =>
      some.reduce((all, { heldMicros, settledMicros }) => all + heldMicros + settledMicros, 0);
    const others = [...this.#runsOf(changed.account), ...this.#removed].filter((run) => run !== changed);
    const now = { ...changed, ledger: new Map([...changed.ledger, ...ledger]) };
    return {
      committedMicros: (scope) =>
        scope.tag === null && scope.sinceAt === null
          ? sum(entries)
          : sum(
              [...others.filter(({ account }) => account === changed.account), now].flatMap((run) =>
                counted(run, scope),
              ),
            ),
      unseenMicros: (mark) => entries.reduce((sum, entry) => sum + unseenOf(entry, mark), 0),
    };
  }

  #deliver(run: MemoryRun, message: InboxMessage, at: number): number {
    const id = ++this.#lastInboxId;
    run.inbox.push({ id, at, message: { ...message } });
    return id;
  }
}

function closed(): JournalClosedError {
  return new JournalClosedError(place, "This journal was closed. Open a new one.");
}

function append(run: MemoryRun, bodies: readonly string[], at: number): void {
  for (const body of bodies) run.records.push({ seq: run.records.length + 1, at, version: EVENT_VERSION, body });
  run.row = { ...run.row, lastSeq: run.records.length, updatedAt: at };
}

function rowOf(run: MemoryRun): RunRow {
  const { row, account, holder, leaseExpiresAt: expiresAt } = run;
  return { ...row, account, lease: holder === null ? null : { holder, expiresAt }, wakeAt: wakeOf(run)?.at ?? null };
}

function wakeOf({ wake }: MemoryRun): Wake | null {
  return wake === null ? null : (JSON.parse(wake) as Wake);
}

function holds(run: MemoryRun, lease: Lease): boolean {
  return run.holder !== null && run.epoch === lease.epoch;
}

/** The origin of events: always this program, because no other program writes to this journal. */
function originOf(runId: string): RecordOrigin {
  return { path: place, runId, signature: () => null };
}

function leaseOf(run: MemoryRun): Lease {
  return { runId: run.row.runId, epoch: run.epoch, expiresAt: run.leaseExpiresAt };
}

function ledgerKey(change: LedgerChange): string {
  return `${change.attempt} ${change.step}`;
}

function changedEntries(
  run: MemoryRun,
  changes: readonly LedgerChange[],
  moment: LedgerMoment,
): ReadonlyMap<string, LedgerEntry> {
  const changed = new Map<string, LedgerEntry>();
  for (const change of changes) {
    const key = ledgerKey(change);
    const entry = changed.get(key) ?? run.ledger.get(key) ?? emptyEntry;
    changed.set(key, changeLedger(entry, entryChange(change), moment));
  }
  return changed;
}

/** The ledger entries of a run that are included in a cap with this scope. */
function counted({ row, ledger }: Pick<MemoryRun, "row" | "ledger">, scope: SpendingScope): readonly LedgerEntry[] {
  if (scope.tag !== null && !tagTexts(row.tags).includes(scope.tag)) return [];
  return [...ledger.values()].filter((entry) => isSince(scope, entry));
}

function totals(runs: readonly MemoryRun[]): LedgerTotals {
  let heldMicros = 0;
  let settledMicros = 0;
  for (const run of runs) {
    for (const entry of run.ledger.values()) {
      heldMicros += entry.heldMicros;
      settledMicros += entry.settledMicros;
    }
  }
  return { heldMicros, settledMicros };
}

/** Moves a run's money and results to another account, whose balance already contains the previous charges. */
function moveAccount(run: MemoryRun, account: string): void {
  run.account = account;
  for (const [key, entry] of run.ledger) run.ledger.set(key, { ...entry, charged: entry.charged === null ? null : 0 });
  for (const [step, row] of run.results) run.results.set(step, { ...row, account });
}

function asks(query: ResultsQuery, account: string, row: StoredResult): boolean {
  if ("runId" in query) return row.runId === query.runId;
  if (query.account !== account) return false;
  if ("fingerprint" in query) return row.fingerprint === query.fingerprint;
  return "step" in query ? row.step === query.step : row.model === query.model;
}

function leaves(value: unknown): readonly unknown[] {
  if (typeof value !== "object") return [value];
  return value === null ? [] : Object.values(value).flatMap(leaves);
}
