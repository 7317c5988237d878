import type { DatabaseSync } from "node:sqlite";
import { JournalNewerVersionError } from "../errors.ts";
import { notAJournal } from "./failure.ts";

/** Marks the file as a Showrunner journal in SQLite's header (`Shwr`). */
export const applicationId = 0x53687772;

/** SQL that lifts a journal by one schema version; the position in the list is the version that it lifts from. */
export type Migration = string;

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
    PRIMARY KEY (run_key, step, attempt)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE accounts (
    account TEXT PRIMARY KEY,
    held_micros INTEGER NOT NULL,
    settled_micros INTEGER NOT NULL
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
  CREATE TABLE migrations (
    version INTEGER PRIMARY KEY
  ) STRICT;
  `,
  // When a charge became known, counted in the account's marks: what a wallet's balance cannot show yet.
  `
  ALTER TABLE ledger ADD COLUMN charged INTEGER;
  UPDATE ledger SET charged = 0 WHERE held_micros = 0;
  CREATE INDEX ledger_charged ON ledger (charged);
  ALTER TABLE accounts ADD COLUMN mark INTEGER NOT NULL DEFAULT 0;
  `,
  // What was asked for in each finished step, so that a later run finds who made the same.
  `
  CREATE TABLE made (
    run_key INTEGER NOT NULL,
    step TEXT NOT NULL,
    account TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    model TEXT,
    at INTEGER NOT NULL,
    PRIMARY KEY (run_key, step)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX made_by_fingerprint ON made (account, fingerprint, at DESC);
  CREATE INDEX made_by_step ON made (account, step, at DESC);
  CREATE INDEX made_by_model ON made (account, model, at DESC);
  `,
  // What a person is to be told, until it was.
  `
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
  `,
];

/** Schema version of an open database; 0 for an empty one. */
export function schemaVersion(db: DatabaseSync): number {
  return pragma(db, "user_version");
}

/**
 * Brings an open database to the newest schema, in one transaction. A new file is laid out before it is switched to
 * write-ahead logging, so that its header always names the program and the version. Throws SQLite's busy error when
 * another process is at it: try again.
 */
export function prepareSchema(db: DatabaseSync, path: string, steps: readonly Migration[] = migrations): void {
  if (checkedVersion(db, path, steps.length) === steps.length) return;
  // Counts only for a file without tables, and lets it shrink when runs are removed.
  db.exec("PRAGMA auto_vacuum = INCREMENTAL");
  db.exec("BEGIN EXCLUSIVE");
  try {
    const from = checkedVersion(db, path, steps.length);
    for (const [index, sql] of steps.entries()) {
      if (index < from) continue;
      db.exec(sql);
      db.exec(`INSERT INTO migrations (version) VALUES (${index + 1})`);
    }
    db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${steps.length}`);
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

function checkedVersion(db: DatabaseSync, path: string, known: number): number {
  const id = pragma(db, "application_id");
  const version = schemaVersion(db);
  const isEmpty = db.prepare("SELECT count(*) AS n FROM sqlite_schema").get()?.n === 0;
  if (!isEmpty && id !== applicationId) throw notAJournal(path, "is a database of another program");
  if (version > known) throw newerSchema(path, version, known);
  return version;
}

export function newerSchema(path: string, version: number, known = migrations.length): JournalNewerVersionError {
  return new JournalNewerVersionError(
    path,
    `The journal ${path} has schema version ${version}; this Showrunner knows versions up to ${known}. It was left untouched: update Showrunner, or choose another journal.`,
  );
}

function pragma(db: DatabaseSync, name: "user_version" | "application_id"): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}
