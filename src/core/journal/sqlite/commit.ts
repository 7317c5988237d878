import { encodeEvents } from "../event-codec.ts";
import { leaseEvent, movedTo } from "../record.ts";
import { guarded } from "../spend-guard.ts";
import type { Commit, CommitOutcome, FoldSnapshot, Lease, LeaseHolder, LeaseOutcome } from "../store.ts";
import { type Database, type EncodedText, packAside } from "./database.ts";
import { moneyAfter, moveAccount, planLedger, writeLedger } from "./ledger.ts";
import {
  clearWake,
  leasedRun,
  noteEvents,
  type RunRecord,
  requireRun,
  runRow,
  takeMemo,
  writeEvents,
  writeMedia,
  writeWake,
} from "./runs.ts";
import { consumeEntries, hasOtherEntries, writeJobs, writeNotices, writeResults } from "./side-tables.ts";

export interface LeaseRequest {
  readonly at: number;
  readonly ttlMs: number;
  readonly isDead: (holder: LeaseHolder, leftMs: number) => boolean;
}

export function takeLease(db: Database, runId: string, holder: LeaseHolder, request: LeaseRequest): LeaseOutcome {
  const run = requireRun(db, runId);
  const { at, ttlMs, isDead } = request;
  if (run.isLeased && at <= run.leaseExpiresAt) {
    const heldBy = runRow(db, runId)!.lease!.holder;
    if (!isDead(heldBy, run.leaseExpiresAt - at)) return { acquired: false, heldBy, expiresAt: run.leaseExpiresAt };
  }
  const lease: Lease = { runId, epoch: run.epoch + 1, expiresAt: at + ttlMs };
  const lastSeq = run.lastSeq + 1;
  const { memo, parked } = takeMemo(db, run.key, at);
  const event = leaseEvent({ lease, holder, seq: lastSeq, at, parked });
  writeEvents(db, run.key, { lastSeq, at, body: encodeEvents([event.event]) });
  db.run(
    "UPDATE runs SET last_seq = ?, updated_at = ?, epoch = ?, lease_holder = ?, lease_expires_at = ? WHERE run_key = ?",
    lastSeq,
    at,
    lease.epoch,
    JSON.stringify(holder),
    lease.expiresAt,
    run.key,
  );
  const hasMail = hasOtherEntries(db, run.key, []);
  return { acquired: true, lease, event, memo, hasMail, tail: lastSeq - run.snapshotSeq };
}

function holdsLease(run: RunRecord, lease: Lease): boolean {
  return run.isLeased && run.epoch === lease.epoch;
}

export function renewLease(db: Database, lease: Lease, expiresAt: number): boolean {
  const run = requireRun(db, lease.runId);
  if (!holdsLease(run, lease)) return false;
  db.run("UPDATE runs SET lease_expires_at = ? WHERE run_key = ?", expiresAt, run.key);
  return true;
}

export function releaseLease(db: Database, lease: Lease): void {
  const run = requireRun(db, lease.runId);
  if (!holdsLease(run, lease)) return;
  db.run(
    "UPDATE runs SET lease_holder = NULL, last_seq = e.seq, updated_at = iif(e.seq > last_seq, e.at, updated_at) FROM (SELECT seq, at FROM events WHERE run_key = ? ORDER BY seq DESC LIMIT 1) e WHERE run_key = ?",
    run.key,
    run.key,
  );
}

export interface EncodedCommit {
  readonly commit: Commit & { readonly status: string };
  readonly body: EncodedText;
  readonly state: EncodedText | null;
}

export function encodeCommit(commit: EncodedCommit["commit"]): EncodedCommit | Promise<EncodedCommit> {
  const { events, snapshot } = commit;
  const body = packAside(encodeEvents(events));
  const state = snapshot === undefined ? null : packAside(snapshot.state);
  if (!(body instanceof Promise || state instanceof Promise)) return { commit, body, state };
  return Promise.all([body, state]).then(([packedBody, packedState]) => {
    return { commit, body: packedBody, state: packedState };
  });
}

export function commitRun(db: Database, { commit, body, state }: EncodedCommit): CommitOutcome {
  const { lease, afterSeq, at, events, snapshot, park = false, inbox = [] } = commit;
  const run = leasedRun(db, lease.runId);
  if (!holdsLease(run, lease) || run.lastSeq !== afterSeq) return { committed: false, reason: "fenced" };
  if (park && hasOtherEntries(db, run.key, inbox)) return { committed: false, reason: "inbox" };
  const ledger = planLedger(db, run, commit.ledger ?? [], at);
  const { refused, committedMicros } = guarded(commit, () => moneyAfter(db, run, ledger));
  if (refused !== null) return refused;

  const lastSeq = afterSeq + events.length;
  const snapshotSeq = snapshot?.seq ?? run.snapshotSeq;
  if (events.length > 0) writeEvents(db, run.key, { lastSeq, at, body });
  const { resumeAt = null } = commit;
  const isOnlyEvents =
    events.length > 0 &&
    !park &&
    commit.status === run.status &&
    resumeAt === run.resumeAt &&
    snapshot === undefined &&
    ledger.after.length === 0;
  if (isOnlyEvents) noteEvents(db, lease.runId, run, lastSeq);
  else {
    db.run(
      "UPDATE runs SET last_seq = ?, updated_at = ?, status = ?, resume_at = ?, snapshot_seq = ?, held_micros = ?, settled_micros = ?, lease_holder = iif(?, NULL, lease_holder) WHERE run_key = ?",
      lastSeq,
      at,
      commit.status,
      resumeAt,
      snapshotSeq,
      ledger.run.heldMicros,
      ledger.run.settledMicros,
      Number(park),
      run.key,
    );
  }
  consumeEntries(db, run.key, inbox);
  if (park) {
    if (commit.wake === undefined) clearWake(db, run.key);
    else writeWake(db, run.key, commit.wake);
  }
  writeLedger(db, run, ledger);
  writeMedia(db, run.key, events);
  writeResults(db, run.key, commit.results ?? [], at);
  const account = movedTo(events);
  if (account !== null) moveAccount(db, { ...run, ledger: ledger.run }, account);
  writeNotices(db, run.key, commit.notices ?? [], at);
  if (snapshot !== undefined) writeSnapshot(db, run.key, snapshot, state);
  writeJobs(db, run, events, at);
  const held: Lease = { ...lease, expiresAt: run.leaseExpiresAt };
  return { committed: true, lastSeq, tail: lastSeq - snapshotSeq, lease: park ? null : held, committedMicros };
}

function writeSnapshot(db: Database, key: number, { foldVersion, seq }: FoldSnapshot, state: EncodedText | null): void {
  db.run(
    "INSERT OR REPLACE INTO snapshots (run_key, fold_version, seq, state) VALUES (?, ?, ?, ?)",
    key,
    foldVersion,
    seq,
    state,
  );
}
