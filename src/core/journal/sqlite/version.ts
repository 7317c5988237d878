import type { DatabaseSync } from "node:sqlite";
import { ownVersion } from "../../kit/own-version.ts";
import { JournalNewerVersionError } from "../errors.ts";
import { notAJournal } from "./failure.ts";
import { loadSqlite } from "./load.ts";
import { type Migration, migrations } from "./schema.ts";

/** Marks an SQLite file as a Showrunner journal (`Shw2`). */
export const applicationId = 0x53687732;

export interface FileVersion {
  readonly id: number;
  readonly version: number;
  readonly program: () => string | null;
}

export function newestVersion(steps: readonly Migration[] = migrations): number {
  return steps.length;
}

/** Returns the journal's version; 0 for an empty database. Throws if the tables do not fit the version. */
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
  const who = program === null ? "a newer Showrunner" : `Showrunner ${program}`;
  const what = program === null ? "update Showrunner" : `use Showrunner ${program} or a later one`;
  return new JournalNewerVersionError(
    path,
    `The journal ${path} is at version ${version}, written by ${who}; this Showrunner (${ownVersion()}) reads versions up to ${newest}. Nothing was changed: ${what}, or choose another journal (--journal FILE).`,
  );
}

function pragma(db: DatabaseSync, name: "user_version" | "application_id"): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}
