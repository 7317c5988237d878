import type { DatabaseSync } from "node:sqlite";
import { JournalNewerVersionError, JournalOldVersionError } from "../errors.ts";
import { notAJournal } from "./failure.ts";

/** Marks the file as a Showrunner journal in SQLite's header (`Shw2`). */
export const applicationId = 0x53687732;

/** Journals of version 1 carried this mark (`Shwr`). That version was never published, so that nothing lifts them. */
const VERSION_1_ID = 0x53687772;

/** SQL that lifts a journal by one version. The first entry lays out a new file, which then has {@link FIRST_VERSION}. */
export type Migration = string;

/** The oldest journal version that can be read: event shapes and tables changed their names with it. */
export const FIRST_VERSION = 2;

/**
 * Rows of one run share a small integer key, so that removing a run is one range delete per table. What is large or
 * changes often (snapshot, progress) stays out of `runs`, so that listing reads only small rows in index order.
 */
export const migrations: readonly Migration[] = [
  `
  CREATE TABLE runs (
    run_key INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    pipeline TEXT NOT NULL,
    account TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    status TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    lease_holder TEXT,
    lease_expires_at INTEGER NOT NULL,
    held_micros INTEGER NOT NULL,
    settled_micros INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX runs_newest ON runs (created_at DESC, run_key DESC);
  CREATE TABLE events (
    run_key INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run_key, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE snapshots (
    run_key INTEGER PRIMARY KEY,
    fold_version INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    state TEXT NOT NULL
  ) STRICT;
  CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_key INTEGER NOT NULL,
    at INTEGER NOT NULL,
    message TEXT NOT NULL
  ) STRICT;
  CREATE INDEX inbox_by_run ON inbox (run_key, id);
  CREATE TABLE ledger (
    run_key INTEGER NOT NULL,
    step TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    held_micros INTEGER NOT NULL,
    settled_micros INTEGER NOT NULL,
    -- The account's mark when the charge became known: the wallet's balance may not show it before.
    charged INTEGER,
    PRIMARY KEY (run_key, step, attempt)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX ledger_charged ON ledger (charged);
  CREATE TABLE accounts (
    account TEXT PRIMARY KEY,
    held_micros INTEGER NOT NULL,
    settled_micros INTEGER NOT NULL,
    mark INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE jobs (
    job_id TEXT PRIMARY KEY,
    run_key INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX jobs_by_run ON jobs (run_key);
  CREATE TABLE job_hints (
    job_id TEXT PRIMARY KEY,
    at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE media (
    run_key INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (run_key, sha256)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE progress (
    run_key INTEGER NOT NULL,
    step TEXT NOT NULL,
    fraction REAL,
    estimated_completion_at INTEGER,
    PRIMARY KEY (run_key, step)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE handles (
    sha256 TEXT NOT NULL,
    account TEXT NOT NULL,
    url TEXT NOT NULL,
    content_type TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (sha256, account)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX handles_expiry ON handles (expires_at);
  -- The result cache: which finished step had which request identity.
  CREATE TABLE results (
    run_key INTEGER NOT NULL,
    step TEXT NOT NULL,
    account TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    model TEXT,
    at INTEGER NOT NULL,
    PRIMARY KEY (run_key, step)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX results_by_fingerprint ON results (account, fingerprint, at DESC);
  CREATE INDEX results_by_step ON results (account, step, at DESC);
  CREATE INDEX results_by_model ON results (account, model, at DESC);
  -- Outbox of notifications: a row stays until it was delivered.
  CREATE TABLE notices (
    run_key INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    event TEXT NOT NULL,
    body TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    last_error TEXT,
    PRIMARY KEY (run_key, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX notices_due ON notices (due_at);
  CREATE TABLE migrations (
    version INTEGER PRIMARY KEY
  ) STRICT;
  `,
];

/** Journal version of an open database; 0 for an empty one. */
function schemaVersion(db: DatabaseSync): number {
  return pragma(db, "user_version");
}

/** Throws when another process lifted an open journal to a version that this Showrunner does not know. */
export function checkOpen(db: DatabaseSync, path: string): void {
  checkedVersion(db, path, versionAfter(migrations));
}

/**
 * Brings an open database to the newest schema, in one transaction. A new file is laid out before it is switched to
 * write-ahead logging, so that its header always names the program and the version. Throws SQLite's busy error when
 * another process is at it: try again.
 */
export function prepareSchema(db: DatabaseSync, path: string, steps: readonly Migration[] = migrations): void {
  const newest = versionAfter(steps);
  if (checkedVersion(db, path, newest) === newest) return;
  // Counts only for a file without tables, and lets it shrink when runs are removed.
  db.exec("PRAGMA auto_vacuum = INCREMENTAL");
  db.exec("BEGIN EXCLUSIVE");
  try {
    const from = checkedVersion(db, path, newest);
    for (const [index, sql] of steps.entries()) {
      const version = FIRST_VERSION + index;
      if (version <= from) continue;
      db.exec(sql);
      db.exec(`INSERT INTO migrations (version) VALUES (${version})`);
    }
    db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${newest}`);
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

function versionAfter(steps: readonly Migration[]): number {
  return FIRST_VERSION + steps.length - 1;
}

function checkedVersion(db: DatabaseSync, path: string, newest: number): number {
  const version = schemaVersion(db);
  const isEmpty = db.prepare("SELECT count(*) AS n FROM sqlite_schema").get()?.n === 0;
  if (!isEmpty) checkVersion(path, { id: pragma(db, "application_id"), version }, newest);
  return version;
}

/** Throws when a file that is not empty is no journal, or one of a version that this Showrunner cannot read. */
export function checkVersion(
  path: string,
  { id, version }: { readonly id: number; readonly version: number },
  newest = versionAfter(migrations),
): void {
  if (id === VERSION_1_ID || (id === applicationId && version < FIRST_VERSION)) throw version1(path);
  if (id !== applicationId) throw notAJournal(path, "is a database of another program");
  if (version > newest) throw newerVersion(path, version, newest);
}

function version1(path: string): JournalOldVersionError {
  return new JournalOldVersionError(
    path,
    `The journal ${path} has version 1, which was written by a Showrunner from before its first release; this Showrunner reads version ${FIRST_VERSION} and later. It was left untouched. Finish its runs with the Showrunner that wrote them, then move the file away, or choose another journal (--journal FILE).`,
  );
}

function newerVersion(path: string, version: number, newest: number): JournalNewerVersionError {
  return new JournalNewerVersionError(
    path,
    `The journal ${path} has version ${version}; this Showrunner knows versions up to ${newest}. It was left untouched: update Showrunner, or choose another journal.`,
  );
}

function pragma(db: DatabaseSync, name: "user_version" | "application_id"): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}
