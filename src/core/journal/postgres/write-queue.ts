import type { Row } from "../columns.ts";
import { JournalRecordError } from "../errors.ts";
import { EVENT_VERSION } from "../events.ts";
import type { Database } from "./database.ts";
import type { Wire } from "./encode.ts";
import { newestVersion } from "./migrate.ts";

interface Pending {
  readonly wire: Wire;
  readonly length: number;
  readonly settle: (row: Row) => void;
  readonly reject: (error: unknown) => void;
}

/** A group has at most so many writes and, from the second on, so many characters: others wait for its locks. */
const largestGroup = 256;
const longestGroup = 1_000_000;
/** While one group is written to the disk, the next may be made. */
const groupsAtOnce = 2;

/**
 * Sends to the database what runs are made of: their creation, their leases, their commits. What is requested in one turn of
 * the event loop shares a transaction, a round trip and an fsync, whatever runs it is of; of one run there is one write at a
 * time, in the order of the requests. When a shared transaction fails, its parts are tried one by one, so that none fails
 * for another.
 */
export class WriteQueue {
  readonly #db: Database;
  readonly #busyRuns = new Set<string>();
  /** By run: the lease's epoch and the name of the last write under it that this process knows of. */
  readonly #lastWrites = new Map<string, { readonly epoch: number; readonly write: string }>();
  #queue: Pending[] = [];
  #groups = 0;
  #scheduled = false;
  #idle: (() => void) | null = null;

  constructor(db: Database) {
    this.#db = db;
  }

  /** What `read` makes of the answer, at once: the run's next write is sent after that. */
  add<T>(wire: Wire, read: (row: Row) => T): Promise<T> {
    const length =
      500 + ("body" in wire ? (wire.body?.length ?? 0) : 0) + ("state" in wire ? (wire.state?.length ?? 0) : 0);
    return new Promise((resolve, reject) => {
      const settle = (row: Row) => resolve(read(row));
      this.#queue.push({ wire, length, settle, reject });
      this.#schedule();
    });
  }

  /** The last write under this epoch has this name. */
  note(runId: string, epoch: number, write: string): void {
    this.#lastWrites.set(runId, { epoch, write });
  }

  forget(runId: string): void {
    this.#lastWrites.delete(runId);
  }

  /** Resolves once everything requested before has its answer. */
  async drained(): Promise<void> {
    while (this.#queue.length > 0 || this.#groups > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
  }

  /** One turn of the event loop gathers what its callbacks ask for. */
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

  /** New runs come first, sorted, as their locks do. */
  #nextGroup(): readonly Pending[] {
    const group: Pending[] = [];
    const rest: Pending[] = [];
    let length = 0;
    for (const pending of this.#queue) {
      const isFull = group.length >= largestGroup || (group.length > 0 && length + pending.length > longestGroup);
      // Behind one that waits for its run, the others of that run wait as well.
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
      // Only what a write itself holds fails it alone; a database that is away fails them all.
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
