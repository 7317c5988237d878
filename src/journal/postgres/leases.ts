import { randomUUID } from "node:crypto";
import type { Columns, Row } from "../columns.ts";
import { RunUnknownError } from "../errors.ts";
import { encodeEvents } from "../event-codec.ts";
import { EVENT_VERSION } from "../events.ts";
import { leaseAcquired } from "../record.ts";
import { holderOf } from "../rows.ts";
import type { Lease, LeaseHolder, LeaseOutcome } from "../store.ts";
import type { Wake } from "../wakes.ts";
import type { LeaseClock } from "./clock.ts";
import type { Database } from "./database.ts";
import { newestVersion } from "./migrate.ts";

export interface LeaseRequest {
  readonly at: number;
  readonly ttlMs: number;
  readonly isDead: (holder: LeaseHolder) => boolean;
}

export type LeaseTaken = LeaseOutcome & { readonly lastSeq: number; readonly write: string };

/** The database numbers the epoch, in the middle of the event. */
const [head, tail] = ['"epoch":', ","];

export async function takeLease(
  db: Database,
  clock: LeaseClock,
  runId: string,
  holder: LeaseHolder,
  { at, ttlMs, isDead }: LeaseRequest,
): Promise<LeaseTaken> {
  const write = randomUUID();
  const event = encodeEvents([leaseAcquired(0, holder)]);
  const cut = event.indexOf(`${head}0${tail}`) + head.length;
  const attempt = async (deadEpoch: number | null) => {
    const [row] = await db.query("SELECT * FROM {s}.take_lease($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)", [
      ...[newestVersion, runId, write, JSON.stringify(holder), at, ttlMs, clock.forDatabase(at), EVENT_VERSION],
      ...[event.slice(0, cut), event.slice(cut + 1), deadEpoch],
    ]);
    if (row === undefined) throw new RunUnknownError(runId, db.place);
    return { row, taken: takenOf(db, clock, runId, row, at) };
  };
  let { row, taken } = await attempt(null);
  if (!taken.acquired && isDead(taken.heldBy)) ({ row, taken } = await attempt(db.columns.integer(row, "epoch")));
  return { ...taken, lastSeq: db.columns.integer(row, "last_seq"), write };
}

function takenOf({ columns }: Database, clock: LeaseClock, runId: string, row: Row, at: number): LeaseOutcome {
  const expiresAt = clock.expiryOf(columns.integer(row, "lease_left"), at);
  if (row.acquired !== true) return { acquired: false, heldBy: holderOf(columns, row), expiresAt };
  return {
    acquired: true,
    lease: { runId, epoch: columns.integer(row, "epoch"), expiresAt },
    memo: memoOf(columns, row),
  };
}

/** Null also where no engine drives the run. Written by a commit only, as JSON. */
function memoOf(columns: Columns, row: Row): Wake["memo"] {
  return row.memo === null ? null : (columns.json(row, "memo") as Wake["memo"]);
}

/** What may be lost when the server's machine stops right after needs no fsync. */
export const notDurable = "set_config('synchronous_commit', 'off', true)";

/** The clause reads the newest row: where it waits for another's change, it looks again afterwards. */
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
