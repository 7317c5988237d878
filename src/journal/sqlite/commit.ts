import { encodeEvent } from "../event-codec.ts";
import { leaseAcquired, movedTo } from "../record.ts";
import { refusalOf } from "../spend-guard.ts";
import type { Commit, CommitOutcome, FoldSnapshot, Lease, LeaseHolder, LeaseOutcome } from "../store.ts";
import type { Database } from "./database.ts";
import { consumeEntries, hasOtherEntries } from "./inbox.ts";
import { moneyAfter, moveAccount, planLedger, writeLedger } from "./ledger.ts";
import { writeNotices } from "./notices.ts";
import { writeResults } from "./results.ts";
import { appendEvents, type RunRecord, requireRun, writeMedia } from "./runs.ts";

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

/** True while the lease is held: neither acquired by another process nor released. */
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

/** A commit with its events as JSON text. */
export interface EncodedCommit {
  readonly commit: Commit & { readonly status: string };
  readonly bodies: readonly string[];
}

export function commitRun(db: Database, { commit, bodies }: EncodedCommit): CommitOutcome {
  const { lease, afterSeq, park = false, inbox = [] } = commit;
  const run = requireRun(db, lease.runId);
  if (!holdsLease(run, lease) || run.lastSeq !== afterSeq) return { committed: false, reason: "fenced" };
  if (park && hasOtherEntries(db, run.key, inbox)) return { committed: false, reason: "inbox" };
  const ledger = planLedger(db, run, commit.ledger ?? []);
  const refused = refusalOf(commit, () => moneyAfter(db, run.account, ledger));
  if (refused !== null) return refused;

  const lastSeq = appendEvents(db, run.key, { afterSeq, at: commit.at, bodies });
  consumeEntries(db, run.key, inbox);
  writeLedger(db, run, ledger);
  writeIndexes(db, run.key, commit);
  writeResults(db, run, commit.results ?? [], commit.at);
  const account = movedTo(commit.events);
  if (account !== null) moveAccount(db, run, account);
  writeNotices(db, run.key, commit.notices ?? [], commit.at);
  if (commit.snapshot !== undefined) writeSnapshot(db, run.key, commit.snapshot);
  db.run("UPDATE runs SET status = ? WHERE run_key = ?", commit.status, run.key);
  if (park) db.run("UPDATE runs SET lease_holder = NULL WHERE run_key = ?", run.key);
  const held: Lease = { ...lease, expiresAt: run.leaseExpiresAt };
  return { committed: true, lastSeq, lease: park ? null : held };
}

function writeIndexes(db: Database, runKey: number, commit: Commit): void {
  writeMedia(db, runKey, commit.events);
}

function writeSnapshot(db: Database, runKey: number, snapshot: FoldSnapshot): void {
  db.run(
    "INSERT OR REPLACE INTO snapshots (run_key, fold_version, seq, state) VALUES (?, ?, ?, ?)",
    ...[runKey, snapshot.foldVersion, snapshot.seq, JSON.stringify(snapshot.state)],
  );
}
