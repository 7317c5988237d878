import { movedTo } from "../account.ts";
import { refusalOf } from "../guard.ts";
import { jobsOf } from "../record.ts";
import type { Commit, CommitOutcome, FoldSnapshot, Lease } from "../store.ts";
import type { Database } from "./database.ts";
import { consumeEntries, deliverHints, hasOtherEntries } from "./inbox.ts";
import { holdsLease } from "./lease.ts";
import { moneyAfter, moveAccount, planLedger, writeLedger } from "./ledger.ts";
import { writeNotices } from "./notices.ts";
import { writeResults } from "./results.ts";
import { appendEvents, requireRun, writeMedia } from "./runs.ts";

/** A commit with its events as JSON text. */
export interface EncodedCommit {
  readonly commit: Commit & { readonly status: string };
  readonly bodies: readonly string[];
}

export function commitRun(db: Database, { commit, bodies }: EncodedCommit): CommitOutcome {
  const { lease, afterSeq, park = false, inbox = [] } = commit;
  const run = requireRun(db, lease.runId);
  if (!holdsLease(run, lease) || run.lastSeq !== afterSeq) return { committed: false, reason: "fenced" };
  // Before the park is decided: a hint that came ahead of the ack counts as an entry.
  const jobIds = jobsOf(commit.events);
  deliverHints(db, run.key, jobIds);
  if (park && hasOtherEntries(db, run.key, inbox)) return { committed: false, reason: "inbox" };
  const ledger = planLedger(db, run, commit.ledger ?? []);
  const refused = refusalOf(commit, () => moneyAfter(db, run.account, ledger));
  if (refused !== null) return refused;

  const lastSeq = appendEvents(db, run.key, { afterSeq, at: commit.at, bodies });
  consumeEntries(db, run.key, inbox);
  writeLedger(db, run, ledger);
  writeIndexes(db, run.key, commit, jobIds);
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

function writeIndexes(db: Database, runKey: number, commit: Commit, jobIds: readonly string[]): void {
  for (const jobId of jobIds) db.run("INSERT OR REPLACE INTO jobs (job_id, run_key) VALUES (?, ?)", jobId, runKey);
  writeMedia(db, runKey, commit.events);
}

function writeSnapshot(db: Database, runKey: number, snapshot: FoldSnapshot): void {
  db.run(
    "INSERT OR REPLACE INTO snapshots (run_key, fold_version, seq, state) VALUES (?, ?, ?, ?)",
    ...[runKey, snapshot.foldVersion, snapshot.seq, JSON.stringify(snapshot.state)],
  );
}
