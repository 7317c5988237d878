import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Another process may look for a moment whether it is locked. */
const LOOK_MS = 200;

/** A process's hold on a folder. */
export interface FolderLock {
  /** Says to other processes who holds it. */
  announce(holder: object): void;
  release(): void;
}

/**
 * Locks a folder that is there by `<name>.lock`; null while another process holds it. The kernel releases the lock when its
 * holder dies, however it dies, so a dead one never blocks others; `<name>.json` beside it is for people and for second processes.
 * @throws the system's error
 */
export function lockFolder(folder: string, name: string): FolderLock | null {
  const guard = openGuard(folder, name);
  const note = noteOf(folder, name);
  try {
    // The lock database never holds data, so it needs no fsync.
    guard.exec("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE");
    guard.exec("BEGIN EXCLUSIVE");
  } catch {
    guard.close();
    return null;
  }
  return {
    announce(holder) {
      writeFileSync(`${note}.new`, JSON.stringify({ pid: process.pid, ...holder }), { mode: 0o600 });
      renameSync(`${note}.new`, note);
    },
    release() {
      rmSync(note, { force: true });
      guard.close();
    },
  };
}

/** What the live process that holds a folder announced; null where none does, or has not said anything yet. */
export function holderOf(folder: string, name: string): { readonly pid: number } | null {
  try {
    const holder: unknown = JSON.parse(readFileSync(noteOf(folder, name), "utf8"));
    const isOne = typeof holder === "object" && holder !== null && "pid" in holder && typeof holder.pid === "number";
    return isOne && isLocked(folder, name) ? (holder as { readonly pid: number }) : null;
  } catch {
    return null;
  }
}

/** Whether a live process holds the folder; a note of a dead one stays behind. */
function isLocked(folder: string, name: string): boolean {
  const guard = openGuard(folder, name, 0);
  try {
    guard.exec("BEGIN EXCLUSIVE");
    return false;
  } catch {
    return true;
  } finally {
    guard.close();
  }
}

const openGuard = (folder: string, name: string, timeout = LOOK_MS) =>
  new DatabaseSync(join(folder, `${name}.lock`), { timeout });
const noteOf = (folder: string, name: string) => join(folder, `${name}.json`);
