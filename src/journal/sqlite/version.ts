import type { DatabaseSync } from "node:sqlite";
import { ownVersion } from "../../own-version.ts";
import { JournalNewerVersionError, JournalOldVersionError } from "../errors.ts";
import { notAJournal } from "./failure.ts";
import { FIRST_VERSION, type Migration, migrations } from "./schema.ts";

/** Marks the file as a Showrunner journal in SQLite's header (`Shw2`). */
export const applicationId = 0x53687732;

/** Journals of version 1 carried this mark (`Shwr`). That version was never published, so that nothing lifts them. */
const VERSION_1_ID = 0x53687772;

/** What a file says of itself. */
export interface FileVersion {
  readonly id: number;
  readonly version: number;
  /** Version of Showrunner that lifted the file to its version; null where that cannot be read. */
  readonly program: () => string | null;
}

export function newestVersion(steps: readonly Migration[] = migrations): number {
  return FIRST_VERSION + steps.length - 1;
}

/** Journal version of an open database; 0 for an empty one. Throws when it cannot be read by this Showrunner. */
export function checkOpen(db: DatabaseSync, path: string, newest = newestVersion()): number {
  const version = pragma(db, "user_version");
  const isEmpty = db.prepare("SELECT count(*) AS n FROM sqlite_schema").get()?.n === 0;
  const program = () => programOf(db, version);
  if (!isEmpty) checkVersion(path, { id: pragma(db, "application_id"), version, program }, newest);
  return version;
}

/** Throws when a file that is not empty is no journal, or one of a version that this Showrunner cannot read. */
export function checkVersion(path: string, { id, version, program }: FileVersion, newest = newestVersion()): void {
  if (id === VERSION_1_ID || (id === applicationId && version < FIRST_VERSION)) throw version1(path);
  if (id !== applicationId) throw notAJournal(path, "is a database of another program");
  if (version > newest) throw newerVersion(path, version, newest, program());
}

/** Which Showrunner lifted an open database to a version, possibly one that this one does not know. */
export function programOf(db: DatabaseSync, version: number): string | null {
  try {
    const row = db.prepare("SELECT program FROM migrations WHERE version = ?").get(version);
    return typeof row?.program === "string" ? row.program.slice(0, 40) : null;
  } catch {
    return null;
  }
}

function version1(path: string): JournalOldVersionError {
  return new JournalOldVersionError(
    path,
    `The journal ${path} has version 1, which was written by a Showrunner from before its first release; this Showrunner reads version ${FIRST_VERSION} and later. It was left untouched. Finish its runs with the Showrunner that wrote them, then move the file away, or choose another journal (--journal FILE).`,
  );
}

function newerVersion(path: string, version: number, newest: number, program: string | null): JournalNewerVersionError {
  const who = program === null ? "a newer Showrunner" : `Showrunner ${program}`;
  const what = program === null ? "update Showrunner" : `use Showrunner ${program} or a later one`;
  return new JournalNewerVersionError(
    path,
    `The journal ${path} has version ${version}, which ${who} gave it; this Showrunner (${ownVersion()}) reads versions up to ${newest}. It was left untouched: ${what}, or choose another journal (--journal FILE).`,
  );
}

function pragma(db: DatabaseSync, name: "user_version" | "application_id"): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}
