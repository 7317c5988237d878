import { randomUUID } from "node:crypto";
import type { Row } from "../columns.ts";
import { jobsOf, type KnownJob } from "../deliveries.ts";
import { JournalRecordError } from "../errors.ts";
import { encodeEvents } from "../event-codec.ts";
import type { LedgerChange } from "../events/spec.ts";
import { EVENT_VERSION } from "../events.ts";
import { type EntryChange, entryChange, mediaOf, mergeChanges, movedTo, slotOf } from "../record.ts";
import { guardOf } from "../spend-guard.ts";
import type { Commit, Wake } from "../store.ts";
import type { Database } from "./database.ts";
import { newestVersion } from "./migrate.ts";

interface Pending {
  readonly wire: Wire;
  readonly length: number;
  readonly settle: (row: Row) => void;
  readonly reject: (error: unknown) => void;
}

/** Maximum number of writes in a group. Larger groups would hold their locks for too long. */
const largestGroup = 256;
const longestGroup = 1_000_000;
/** Maximum number of groups in progress. While the server writes one group to disk, the next can be built. */
const groupsAtOnce = 2;

/** Sends writes in groups, one transaction per group. Each run's writes keep their order. */
export class WriteQueue {
  readonly #db: Database;
  readonly #busyRuns = new Set<string>();
  readonly #lastWrites = new Map<string, { readonly epoch: number; readonly write: string }>();
  #queue: Pending[] = [];
  #groups = 0;
  #scheduled = false;
  #idle: (() => void) | null = null;

  constructor(db: Database) {
    this.#db = db;
  }

  add<T>(wire: Wire, read: (row: Row) => T): Promise<T> {
    const length =
      500 + ("body" in wire ? (wire.body?.length ?? 0) : 0) + ("state" in wire ? (wire.state?.length ?? 0) : 0);
    return new Promise((resolve, reject) => {
      const settle = (row: Row) => resolve(read(row));
      this.#queue.push({ wire, length, settle, reject });
      this.#schedule();
    });
  }

  note(runId: string, epoch: number, write: string): void {
    this.#lastWrites.set(runId, { epoch, write });
  }

  forget(runId: string): void {
    this.#lastWrites.delete(runId);
  }

  async drained(): Promise<void> {
    while (this.#queue.length > 0 || this.#groups > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
  }

  #schedule(): void {
    if (this.#scheduled || this.#groups >= groupsAtOnce) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const group = this.#nextGroup();
      if (group.length === 0) return;
      this.#groups += 1;
      void this.#send(group);
    });
  }

  /**
   * Takes the next group of writes from the queue. New runs come first, sorted by id, so that all processes lock them
   * in the same order.
   */
  #nextGroup(): readonly Pending[] {
    const group: Pending[] = [];
    const rest: Pending[] = [];
    let length = 0;
    for (const pending of this.#queue) {
      const isFull = group.length >= largestGroup || (group.length > 0 && length + pending.length > longestGroup);
      // Skip busy runs, to keep the order of each run's writes.
      if (isFull || this.#busyRuns.has(pending.wire.run)) rest.push(pending);
      else {
        group.push(pending);
        this.#busyRuns.add(pending.wire.run);
        length += pending.length;
      }
      if (isFull) length = Number.POSITIVE_INFINITY;
    }
    this.#queue = rest;
    const created = group.filter(({ wire }) => "pipeline" in wire);
    if (created.length === 0) return group;
    return [...created.sort(byRun), ...group.filter(({ wire }) => !("pipeline" in wire))];
  }

  async #send(group: readonly Pending[]): Promise<void> {
    await this.#write(group);
    for (const { wire } of group) this.#busyRuns.delete(wire.run);
    this.#groups -= 1;
    if (this.#queue.length > 0) this.#schedule();
    this.#idle?.();
  }

  async #write(group: readonly Pending[]): Promise<void> {
    try {
      const writes = JSON.stringify(group.map(({ wire }) => this.#afterLastWrite(wire)));
      const rows = await this.#db.query("SELECT * FROM {s}.write_runs($1, $2, $3, $4)", (repeated) => [
        newestVersion,
        EVENT_VERSION,
        repeated,
        writes,
      ]);
      for (const [index, { settle, reject }] of group.entries()) {
        try {
          settle(rows[index]!);
        } catch (error) {
          reject(error);
        }
      }
    } catch (error) {
      if (group.length === 1) return group[0]!.reject(error);
      // An invalid record fails alone. Any other error fails the whole group.
      if (!(error instanceof JournalRecordError)) return group.forEach(({ reject }) => void reject(error));
      for (const write of group) await this.#write([write]);
    }
  }

  #afterLastWrite(wire: Wire): Wire {
    const last = this.#lastWrites.get(wire.run);
    return "epoch" in wire && last?.epoch === wire.epoch ? { ...wire, after_write: last.write } : wire;
  }
}

function byRun({ wire: { run: a } }: Pending, { wire: { run: b } }: Pending): number {
  return a < b ? -1 : 1;
}

/** A write in the form that the SQL function `write_runs` receives. Empty fields are left out. */
type Wire = WireCreate | WireTake | WireCommit;

interface AnyWire {
  readonly run: string;
  readonly at: number;
  /** The time to use instead of the database's clock, in epoch milliseconds. Set only in tests. */
  readonly now?: number;
}

export interface WireCreate extends AnyWire {
  readonly pipeline: string;
  readonly account: string;
  readonly title?: string;
  readonly tags: string;
  readonly text: string;
  readonly body: string;
  readonly media?: readonly string[];
  readonly wake_at?: number | null;
  readonly memo?: string;
}

export interface WireTake extends AnyWire {
  readonly write: string;
  readonly ttl: number;
  readonly holder: string;
  readonly head: string;
  readonly tail: string;
  readonly dead_epoch: number | null;
}

interface WireCommit extends AnyWire {
  /** Id of this write. Retries of the write have the same id. */
  readonly write: string;
  /** Id of the run's previous write, if this process made that write. */
  readonly after_write?: string;
  readonly epoch: number;
  readonly after_seq: number;
  readonly count: number;
  readonly status: string;
  readonly resume_at?: number;
  readonly park: boolean;
  readonly inbox: readonly number[];
  readonly body?: string;
  readonly wake_at?: number | null;
  readonly memo?: string;
  readonly ledger?: readonly WireChange[];
  readonly charges?: 0 | 1;
  /** Number of the 15-minute slot in which new holds are counted. */
  readonly slot?: number;
  readonly caps?: readonly WireCap[];
  readonly wallet_mark?: number;
  readonly most_unseen?: number;
  readonly media?: readonly string[];
  readonly jobs?: readonly object[];
  readonly results?: readonly object[];
  readonly moved_to?: string;
  readonly notices?: readonly object[];
  readonly snapshot_seq?: number;
  readonly fold_version?: number;
  readonly state?: string;
}

/** A spending cap to check. `tag` is null for a cap on all runs, and `slot` is null for a cap without a period. */
interface WireCap {
  readonly tag: string | null;
  readonly slot: number | null;
  readonly cap: number;
}

interface WireChange extends EntryChange {
  readonly step: string;
  readonly attempt: number;
}

export function encodeCommit(commit: Commit & { readonly status: string }): WireCommit {
  const {
    lease,
    afterSeq,
    at,
    events,
    status,
    park = false,
    inbox = [],
    ledger = [],
    snapshot,
    wake,
    resumeAt,
  } = commit;
  const account = movedTo(events);
  return {
    run: lease.runId,
    write: randomUUID(),
    epoch: lease.epoch,
    after_seq: afterSeq,
    count: events.length,
    at,
    status,
    park,
    inbox,
    ...(resumeAt != null && { resume_at: resumeAt }),
    ...(events.length > 0 && { body: encodeEvents(events) }),
    ...(park && wake !== undefined && encodeWake(wake)),
    ...(ledger.length > 0 && { ...encodeLedger(ledger), slot: slotOf(at) }),
    ...encodeGuard(commit),
    ...unlessEmpty("media", [...new Set(events.flatMap(mediaOf))]),
    ...unlessEmpty("jobs", lastOf(jobsOf(events), ({ step, attempt }) => `${attempt} ${step}`).map(jobOf)),
    ...unlessEmpty("results", resultsOf(commit)),
    ...(account !== null && { moved_to: account }),
    ...unlessEmpty("notices", commit.notices ?? []),
    ...(snapshot !== undefined && {
      snapshot_seq: snapshot.seq,
      fold_version: snapshot.foldVersion,
      state: snapshot.state,
    }),
  };
}

export function encodeWake({ at, memo }: Wake): { readonly wake_at: number | null; readonly memo: string } {
  return { wake_at: at, memo: JSON.stringify(memo) };
}

function encodeGuard(commit: Commit): Pick<WireCommit, "caps" | "wallet_mark" | "most_unseen"> {
  const guard = guardOf(commit);
  if (guard === null) return {};
  const { wallet } = guard;
  const caps = guard.caps.map(({ tag, sinceAt, capMicros: cap }): WireCap => {
    return { tag, slot: sinceAt === null ? null : slotOf(sinceAt), cap };
  });
  if (wallet === null) return { caps };
  return { caps, wallet_mark: wallet.mark, most_unseen: wallet.balanceMicros - wallet.floorMicros };
}

function encodeLedger(changes: readonly LedgerChange[]): Pick<WireCommit, "ledger" | "charges"> {
  const byEntry = Map.groupBy(changes, ({ step, attempt }) => `${attempt} ${step}`);
  const charges = changes.some(({ type }) => type === "charged" || type === "settle") ? 1 : 0;
  const ledger = [...byEntry.values()].map((ofEntry): WireChange => {
    const { step, attempt } = ofEntry[0]!;
    return { step, attempt, ...ofEntry.map(entryChange).reduce(mergeChanges) };
  });
  return { ledger, charges };
}

function lastOf<T>(entries: readonly T[], keyOf: (entry: T) => string): readonly T[] {
  return [...new Map(entries.map((entry) => [keyOf(entry), entry])).values()];
}

function jobOf({ step, attempt, jobId: job }: KnownJob) {
  return { step, attempt, job };
}

function resultsOf({ results = [] }: Commit) {
  return lastOf(results, ({ step }) => step).map(({ step, fingerprint, model, tookMs }) => {
    return { step, fingerprint, model, took_ms: tookMs };
  });
}

export function unlessEmpty<Name extends string, T>(
  name: Name,
  list: readonly T[],
): { readonly [N in Name]?: readonly T[] } {
  return list.length === 0 ? {} : ({ [name]: list } as { readonly [N in Name]: readonly T[] });
}
