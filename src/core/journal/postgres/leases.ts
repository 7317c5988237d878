import { randomUUID } from "node:crypto";
import type { Columns, Row } from "../columns.ts";
import { RunUnknownError } from "../errors.ts";
import { encodeEvents } from "../event-codec.ts";
import { leaseAcquired, leaseEvent } from "../record.ts";
import { holderOf } from "../rows.ts";
import type { Lease, LeaseHolder, LeaseOutcome, Wake } from "../store.ts";
import type { Database } from "./database.ts";
import type { WireTake, WriteQueue } from "./write-queue.ts";

export interface LeaseRequest {
  readonly at: number;
  readonly ttlMs: number;
  readonly isDead: (holder: LeaseHolder, leftMs: number) => boolean;
}

/** The JSON before and after the epoch in a `lease.acquired` event. The database fills in the epoch. */
const [head, tail] = ['"epoch":', ","];

export async function takeLease(
  db: Database,
  writes: WriteQueue,
  clock: LeaseClock,
  runId: string,
  holder: LeaseHolder,
  { at, ttlMs, isDead }: LeaseRequest,
): Promise<LeaseOutcome> {
  const event = encodeEvents([leaseAcquired(0, holder)]);
  const cut = event.indexOf(`${head}0${tail}`) + head.length;
  const wire: WireTake = {
    run: runId,
    write: randomUUID(),
    at,
    ttl: ttlMs,
    holder: JSON.stringify(holder),
    head: event.slice(0, cut),
    tail: event.slice(cut + 1),
    dead_epoch: null,
    ...clock.forWrite(at),
  };
  const attempt = (dead_epoch: number | null) => {
    return writes.add({ ...wire, dead_epoch }, (row) => {
      const outcome = outcomeOf(db, clock, holder, wire, row);
      if (outcome.acquired) writes.note(runId, outcome.lease.epoch, wire.write);
      return { outcome, epoch: db.columns.integer(row, "epoch") };
    });
  };
  const { outcome, epoch } = await attempt(null);
  if (outcome.acquired || !isDead(outcome.heldBy, outcome.expiresAt - at)) return outcome;
  return (await attempt(epoch)).outcome;
}

function outcomeOf(
  { columns, place }: Database,
  clock: LeaseClock,
  holder: LeaseHolder,
  { run: runId, at }: WireTake,
  row: Row,
): LeaseOutcome {
  if (row.outcome === "unknown") throw new RunUnknownError(runId, place);
  const expiresAt = clock.expiryOf(columns.integer(row, "lease_left"), at);
  if (row.outcome !== "taken") return { acquired: false, heldBy: holderOf(columns, row), expiresAt };
  const lease: Lease = { runId, epoch: columns.integer(row, "epoch"), expiresAt };
  const taken = { lease, holder, seq: columns.integer(row, "last_seq"), at, parked: row.parked === true };
  return {
    acquired: true,
    lease,
    event: leaseEvent(taken),
    memo: memoOf(columns, row),
    hasMail: row.has_mail === true,
    tail: columns.integer(row, "tail"),
  };
}

function memoOf(columns: Columns, row: Row): Wake["memo"] {
  return row.memo === null ? null : (columns.json(row, "memo") as Wake["memo"]);
}

/** SQL that lets a commit return before the fsync. If the server's machine crashes, the write may be lost. */
export const notDurable = "set_config('synchronous_commit', 'off', true)";

export async function renewLease(
  db: Database,
  clock: LeaseClock,
  lease: Lease,
  at: number,
  ttlMs: number,
): Promise<boolean> {
  const [row] = await db.query(
    `WITH renewed AS (
      UPDATE {s}.runs SET lease_expires_at = coalesce($4, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) + $3
      WHERE run_id = $1 AND epoch = $2 AND lease_holder IS NOT NULL RETURNING 1)
    SELECT ${notDurable}, EXISTS (SELECT FROM renewed) AS renewed FROM {s}.runs WHERE run_id = $1`,
    [lease.runId, lease.epoch, ttlMs, clock.forDatabase(at)],
  );
  if (row === undefined) throw new RunUnknownError(lease.runId, db.place);
  return row.renewed === true;
}

export async function releaseLease(db: Database, { runId, epoch }: Lease): Promise<void> {
  const [row] = await db.query(
    `WITH released AS (UPDATE {s}.runs SET lease_holder = NULL WHERE run_id = $1 AND epoch = $2 RETURNING 1)
    SELECT ${notDurable} FROM {s}.runs WHERE run_id = $1`,
    [runId, epoch],
  );
  if (row === undefined) throw new RunUnknownError(runId, db.place);
}

/** Converts between the database's clock and this process's clock. */
export interface LeaseClock {
  /** Returns the time to pass to the database; null if the database uses its own clock. */
  forDatabase(at?: number): number | null;
  forWrite(at?: number): { readonly now?: number };
  expiryOf(leftMs: number, at?: number): number;
}

export function databaseClock(now: () => number): LeaseClock {
  return { forDatabase: () => null, forWrite: () => ({}), expiryOf: (leftMs, at = now()) => at + leftMs };
}

/** Returns a clock for tests, which uses the times that callers pass instead of the database's clock. */
export function callersClock(): LeaseClock {
  return {
    forDatabase: (at = 0) => at,
    forWrite: (at = 0) => ({ now: at }),
    expiryOf: (leftMs, at = 0) => at + leftMs,
  };
}

const TOLERATED_MS = 1_000;
const MEASURED_EVERY_MS = 60_000;

export class SharedClock {
  readonly #db: Database;
  readonly #own: () => number;
  #measuredAt = Number.NEGATIVE_INFINITY;
  offsetMs = 0;

  constructor(db: Database) {
    this.#db = db;
    this.#own = db.settings.now;
  }

  now(): number {
    return this.#own() + this.offsetMs;
  }

  async measure(): Promise<void> {
    const before = this.#own();
    if (before - this.#measuredAt < MEASURED_EVERY_MS) return;
    const [row] = await this.#db.query("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now", []);
    const after = this.#own();
    const offsetMs = Math.round(this.#db.columns.integer(row!, "now") - (before + after) / 2);
    this.offsetMs = Math.abs(offsetMs) < TOLERATED_MS ? 0 : offsetMs;
    this.#measuredAt = after;
  }
}
