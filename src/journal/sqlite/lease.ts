import { encodeEvent } from "../event-codec.ts";
import { leaseAcquired } from "../record.ts";
import type { Lease, LeaseHolder, LeaseOutcome } from "../store.ts";
import type { Database } from "./database.ts";
import { appendEvents, type RunRecord, requireRun } from "./runs.ts";

export interface LeaseRequest {
  readonly at: number;
  readonly ttlMs: number;
  readonly isDead: (holder: LeaseHolder) => boolean;
}

export function takeLease(db: Database, runId: string, holder: LeaseHolder, request: LeaseRequest): LeaseOutcome {
  const run = requireRun(db, runId);
  const { at, ttlMs, isDead } = request;
  if (run.holder !== null && at <= run.leaseExpiresAt && !isDead(run.holder)) {
    return { acquired: false, heldBy: run.holder, expiresAt: run.leaseExpiresAt };
  }
  const lease: Lease = { runId, epoch: run.epoch + 1, expiresAt: at + ttlMs };
  const body = encodeEvent(leaseAcquired(lease.epoch, holder));
  appendEvents(db, run.key, { afterSeq: run.lastSeq, at, bodies: [body] });
  db.run(
    "UPDATE runs SET epoch = ?, lease_holder = ?, lease_expires_at = ? WHERE run_key = ?",
    ...[lease.epoch, JSON.stringify(holder), lease.expiresAt, run.key],
  );
  return { acquired: true, lease };
}

/** True while nobody took the run over and the holder did not give it back. */
export function holdsLease(run: RunRecord, lease: Lease): boolean {
  return run.holder !== null && run.epoch === lease.epoch;
}

export function renewLease(db: Database, lease: Lease, expiresAt: number): boolean {
  const run = requireRun(db, lease.runId);
  if (!holdsLease(run, lease)) return false;
  db.run("UPDATE runs SET lease_expires_at = ? WHERE run_key = ?", expiresAt, run.key);
  return true;
}

export function releaseLease(db: Database, lease: Lease): void {
  const run = requireRun(db, lease.runId);
  if (holdsLease(run, lease)) db.run("UPDATE runs SET lease_holder = NULL WHERE run_key = ?", run.key);
}
