import type { Row } from "../columns.ts";
import { JournalRecordError, RunUnknownError } from "../errors.ts";
import { EVENT_VERSION } from "../events.ts";
import type { SpendingCap } from "../money.ts";
import { refusalOf } from "../spend-guard.ts";
import type { Commit, CommitOutcome } from "../store.ts";
import type { LeaseClock } from "./clock.ts";
import type { Database } from "./database.ts";
import { encodeCommit, type WireCommit } from "./encode.ts";
import { newestVersion } from "./migrate.ts";

type FullCommit = Commit & { readonly status: string };

interface Pending {
  readonly commit: FullCommit;
  readonly wire: WireCommit;
  readonly length: number;
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** A group has at most so many commits and, from the second on, so many characters: others wait for its locks. */
const largestGroup = 256;
const longestGroup = 1_000_000;
/** While one group is written to the disk, the next may be made. */
const groupsAtOnce = 2;

/**
 * Sends commits to the database. What is requested in one turn of the event loop shares a transaction, a round trip and an
 * fsync, in the order of the requests; commits of one run are never under way in two groups. When a shared transaction
 * fails, its parts are tried one by one, so that none fails for another.
 */
export class CommitQueue {
  readonly #db: Database;
  readonly #clock: LeaseClock;
  readonly #busyRuns = new Set<string>();
  /** By run: the lease's epoch and the name of the last write under it that this process knows of. */
  readonly #lastWrites = new Map<string, { readonly epoch: number; readonly write: string }>();
  #queue: Pending[] = [];
  #groups = 0;
  #scheduled = false;
  #idle: (() => void) | null = null;

  constructor(db: Database, clock: LeaseClock) {
    this.#db = db;
    this.#clock = clock;
  }

  add(commit: FullCommit): Promise<CommitOutcome> {
    const wire = encodeCommit(commit);
    const length = 500 + (wire.body?.length ?? 0) + (wire.state?.length ?? 0);
    return new Promise((resolve, reject) => {
      this.#queue.push({ commit, wire, length, resolve, reject });
      this.#schedule();
    });
  }

  /** The lease was taken by a write of this name. */
  begin(runId: string, epoch: number, write: string): void {
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
        length += pending.length;
      }
      if (isFull) length = Number.POSITIVE_INFINITY;
    }
    this.#queue = rest;
    return group;
  }

  async #send(group: readonly Pending[]): Promise<void> {
    const runs = new Set(group.map(({ wire }) => wire.run));
    for (const run of runs) this.#busyRuns.add(run);
    await this.#commit(group);
    for (const run of runs) this.#busyRuns.delete(run);
    this.#groups -= 1;
    if (this.#queue.length > 0) this.#schedule();
    this.#idle?.();
  }

  async #commit(group: readonly Pending[]): Promise<void> {
    try {
      const wires = this.#afterLastWrites(group);
      const rows = await this.#db.query("SELECT * FROM {s}.commit_runs($1, $2, $3, $4)", [
        ...[newestVersion, EVENT_VERSION, this.#clock.forDatabase(), JSON.stringify(wires)],
      ]);
      for (const [index, pending] of group.entries()) this.#settle(pending, rows[index]!);
    } catch (error) {
      if (group.length === 1) return group[0]!.reject(error);
      // Only what a commit itself holds fails it alone; a database that is away fails them all.
      if (!(error instanceof JournalRecordError)) return group.forEach(({ reject }) => void reject(error));
      for (const one of group) await this.#commit([one]);
    }
  }

  /** Only of a run's first commit in a group the last write is known. */
  #afterLastWrites(group: readonly Pending[]): readonly WireCommit[] {
    const seen = new Set<string>();
    return group.map(({ wire }) => {
      const last = this.#lastWrites.get(wire.run);
      const isFirst = !seen.has(wire.run);
      seen.add(wire.run);
      return isFirst && last?.epoch === wire.epoch ? { ...wire, after_write: last.write } : wire;
    });
  }

  #settle({ commit, wire, resolve, reject }: Pending, row: Row): void {
    try {
      const outcome = this.#outcomeOf(commit, row);
      if (outcome.committed && outcome.lease !== null) this.begin(wire.run, wire.epoch, wire.write);
      else if (outcome.committed || outcome.reason === "fenced") this.forget(wire.run);
      resolve(outcome);
    } catch (error) {
      reject(error);
    }
  }

  #outcomeOf(commit: FullCommit, row: Row): CommitOutcome {
    const { columns, place } = this.#db;
    const outcome = columns.text(row, "outcome");
    switch (outcome) {
      case "committed": {
        const expiresAt = this.#clock.expiryOf(columns.integer(row, "lease_left"));
        const lease = commit.park === true ? null : { ...commit.lease, expiresAt };
        return {
          committed: true,
          lastSeq: columns.integer(row, "last_seq"),
          tail: columns.integer(row, "tail"),
          lease,
        };
      }
      case "fenced":
      case "inbox":
        return { committed: false, reason: outcome };
      case "money": {
        const committed = columns.json(row, "committed") as readonly number[];
        const unseen = columns.integerOrNull(row, "unseen_micros") ?? 0;
        return refusalOf(commit, () => ({
          committedMicros: (cap) => committed[commit.guard!.caps.indexOf(cap as SpendingCap)]!,
          unseenMicros: () => unseen,
        }))!;
      }
      default:
        throw new RunUnknownError(commit.lease.runId, place);
    }
  }
}
