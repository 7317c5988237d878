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

/** Larger groups would hold their locks for too long. */
const largestGroup = 256;
const longestGroup = 1_000_000;
/** While the server writes one group to disk, the next can be built. */
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

  /** New runs come first, sorted by id, because they are locked in this order. */
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
      // An invalid record fails alone; an unavailable database fails them all.
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
