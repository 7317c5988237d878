import { closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { ownVersion } from "../../kit/own-version.ts";
import { JournalCorruptError, JournalIoError } from "../errors.ts";
import { packText, unpackText } from "./database.ts";
import { loadSqlite } from "./load.ts";
import { type Migration, migrations, type StoredBody } from "./schema.ts";
import { applicationId, checkOpen, newestVersion } from "./version.ts";

/** Migrates a database in one transaction. An older journal is first copied to {@link copyOf}. */
export function prepareSchema(db: DatabaseSync, path: string, steps: readonly Migration[] = migrations): void {
  const newest = newestVersion(steps);
  const found = checkOpen(db, path, steps);
  if (found === newest) return;
  // Lets the file shrink when runs are removed. Has no effect on a file with tables.
  db.exec("PRAGMA auto_vacuum = INCREMENTAL");
  // The weaker lock prevents writes, but lets the copy read the journal.
  db.exec(found === 0 ? "BEGIN EXCLUSIVE" : "BEGIN IMMEDIATE");
  try {
    // Another process may have migrated meanwhile.
    const from = checkOpen(db, path, steps);
    if (from === newest) return db.exec("ROLLBACK");
    if (from > 0) copyJournal(path, from);
    for (const [index, step] of steps.entries()) {
      if (index >= from) applyStep(db, path, step, index + 1);
    }
    db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${newest}`);
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

export function copyOf(path: string, version: number): string {
  return `${path}.version-${version}`;
}

/** The caller must hold the write lock, because the unfinished copy has a fixed name. */
function copyJournal(path: string, version: number): void {
  const copy = copyOf(path, version);
  const part = `${copy}.part`;
  rmSync(part, { force: true });
  // Create the file first, so that it is private from the start.
  closeSync(openSync(part, "wx", 0o600));
  try {
    const { DatabaseSync } = loadSqlite();
    const reader = new DatabaseSync(path, { readOnly: true });
    try {
      reader.prepare("VACUUM INTO ?").run(part);
    } finally {
      reader.close();
    }
    sync(part, "r+");
    renameSync(part, copy);
  } catch (cause) {
    rmSync(part, { force: true });
    throw "errcode" in (cause as object) ? cause : notCopied(path, copy, cause);
  }
  if (process.platform !== "win32") sync(dirname(path), "r");
}

function notCopied(path: string, copy: string, cause: unknown): JournalIoError {
  return new JournalIoError(
    path,
    `The journal ${path} is at an older version and must be copied before it is migrated, but the copy ${copy} cannot be written (${(cause as Error).message}). Nothing was changed. Make the folder writable or move the existing file away, then try again.`,
    { cause },
  );
}

function sync(path: string, flags: "r" | "r+"): void {
  const file = openSync(path, flags);
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function applyStep(db: DatabaseSync, path: string, { sql, event }: Migration, version: number): void {
  db.exec(sql);
  if (event !== undefined) rewriteEvents(db, path, event, version);
  // Snapshots were built from the old form of the events.
  db.exec("DELETE FROM snapshots; UPDATE runs SET snapshot_seq = 0");
  db.prepare("INSERT INTO migrations (version, program) VALUES (?, ?)").run(version, ownVersion());
}

function rewriteEvents(db: DatabaseSync, path: string, lift: NonNullable<Migration["event"]>, version: number): void {
  const read = db.prepare("SELECT seq, body FROM events WHERE run_key = ? ORDER BY seq");
  const write = db.prepare("UPDATE events SET body = ?, version = ? WHERE run_key = ? AND seq = ?");
  for (const { run_key: key = null, run_id: runId } of db.prepare("SELECT run_key, run_id FROM runs").all()) {
    for (const { seq = null, body } of read.all(key)) {
      const stored = parsed(unpackText(body) ?? "", `Event ${seq} of run "${runId}" in ${path}`, path);
      const lifted = Array.isArray(stored) ? stored.map(lift) : lift(stored);
      write.run(packText(JSON.stringify(lifted)), version, key, seq);
    }
  }
}

function parsed(body: string, where: string, path: string): StoredBody | StoredBody[] {
  try {
    return JSON.parse(body) as StoredBody | StoredBody[];
  } catch (cause) {
    const message = `${where} is not readable, so the journal was not migrated to this version. Nothing was changed. Restore the journal from a copy.`;
    throw new JournalCorruptError(path, message, { cause });
  }
}
