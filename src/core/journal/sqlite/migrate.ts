import { closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { ownVersion } from "../../kit/own-version.ts";
import { JournalCorruptError, JournalIoError, JournalNewerVersionError } from "../errors.ts";
import { loadSqlite, notAJournal, packText, unpackText } from "./database.ts";
import { type Migration, migrations, type StoredBody } from "./schema.ts";

/** Migrates a database in one transaction. An older journal is first copied to the path that {@link copyOf} returns. */
export function prepareSchema(db: DatabaseSync, path: string, steps: readonly Migration[] = migrations): void {
  const newest = newestVersion(steps);
  const found = checkOpen(db, path, steps);
  if (found === newest) return;
  // Lets the file shrink when runs are removed. Has no effect on a file that already has tables.
  db.exec("PRAGMA auto_vacuum = INCREMENTAL");
  // The weaker lock prevents writes, but lets the copy read the journal.
  db.exec(found === 0 ? "BEGIN EXCLUSIVE" : "BEGIN IMMEDIATE");
  try {
    // Another process may have migrated the journal meanwhile.
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

/** Copies the journal. The caller must hold the write lock, because the unfinished copy has a fixed name. */
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
    `The journal ${path} has an older version and must be copied before it is migrated, but the copy ${copy} cannot be written (${(cause as Error).message}). Nothing was changed. Make the folder writable, or move any existing file with the name of the copy elsewhere, then try again.`,
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
    const message = `${where} cannot be read, so the journal was not migrated to the format of this Showrunner version. Nothing was changed. Restore the journal from a copy.`;
    throw new JournalCorruptError(path, message, { cause });
  }
}

/** Marks an SQLite file as a Showrunner journal (`Shw2`). */
export const applicationId = 0x53687732;

interface FileVersion {
  readonly id: number;
  readonly version: number;
  readonly program: () => string | null;
}

export function newestVersion(steps: readonly Migration[] = migrations): number {
  return steps.length;
}

/** Returns the journal's version; 0 for an empty database. Throws if the tables do not match the version. */
export function checkOpen(db: DatabaseSync, path: string, steps: readonly Migration[] = migrations): number {
  db.exec("PRAGMA trusted_schema = OFF");
  if (db.isTransaction) return checkLayout(db, path, steps);
  // Read in one transaction, because another process may create or migrate the journal between two reads.
  db.exec("BEGIN");
  try {
    return checkLayout(db, path, steps);
  } finally {
    if (db.isTransaction) db.exec("ROLLBACK");
  }
}

function checkLayout(db: DatabaseSync, path: string, steps: readonly Migration[]): number {
  const version = pragma(db, "user_version");
  const layout = layoutOf(db);
  const program = () => programOf(db, version);
  if (layout.length === 0) return version;
  checkVersion(path, { id: pragma(db, "application_id"), version, program }, newestVersion(steps));
  const strange = differenceOf(layout, layoutAt(version, steps));
  if (strange !== null) throw notAJournal(path, `has a schema that Showrunner did not create (${strange})`);
  return version;
}

function layoutOf(db: DatabaseSync): readonly string[] {
  const rows = db.prepare("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'").all();
  // SQLite keeps the comments of a definition, and those may differ between versions.
  const plain = (sql: unknown) => String(sql).replace(/--.*$/gm, "").replace(/\s+/g, " ");
  return rows.map(({ type, name, sql }) => `${type} ${name}\n${plain(sql)}`).sort();
}

const layouts = new Map<Migration, readonly string[]>();

function layoutAt(version: number, steps: readonly Migration[]): readonly string[] {
  const upTo = steps.slice(0, version);
  const last = upTo.at(-1)!;
  const known = layouts.get(last);
  if (known !== undefined) return known;
  const { DatabaseSync } = loadSqlite();
  const blank = new DatabaseSync(":memory:");
  for (const { sql } of upTo) blank.exec(sql);
  const layout = layoutOf(blank);
  blank.close();
  layouts.set(last, layout);
  return layout;
}

function differenceOf(found: readonly string[], expected: readonly string[]): string | null {
  const strange = found.find((part) => !expected.includes(part)) ?? expected.find((part) => !found.includes(part));
  return strange?.split("\n", 1)[0]?.slice(0, 100) ?? null;
}

export function checkVersion(path: string, { id, version, program }: FileVersion, newest = newestVersion()): void {
  if (id !== applicationId || version < 1) throw notAJournal(path, "belongs to another program");
  if (version > newest) throw newerVersion(path, version, newest, program());
}

export function programOf(db: DatabaseSync, version: number): string | null {
  try {
    const row = db.prepare("SELECT program FROM migrations WHERE version = ?").get(version);
    return typeof row?.program === "string" ? row.program.slice(0, 40) : null;
  } catch {
    return null;
  }
}

function newerVersion(path: string, version: number, newest: number, program: string | null): JournalNewerVersionError {
  const who = program === null ? "a newer version of Showrunner" : `Showrunner ${program}`;
  const what = program === null ? "update Showrunner" : `use Showrunner ${program} or later`;
  return new JournalNewerVersionError(
    path,
    `The journal ${path} is at version ${version}, written by ${who}; this version of Showrunner (${ownVersion()}) reads journals up to version ${newest}. Nothing was changed. To open this journal, ${what}; or choose another journal (--journal FILE).`,
  );
}

function pragma(db: DatabaseSync, name: "user_version" | "application_id"): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}
