import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const BUSY = 5;
/** Time to wait for the lock, in milliseconds. Another process that only tests the lock releases it sooner. */
const LOOK_MS = 200;

export interface FolderLock {
  announce(holder: object): void;
  release(): void;
}

/**
 * Locks an existing folder. Returns null while another process holds the lock. If that process dies, the kernel
 * releases the lock.
 */
export function lockFolder(folder: string, name: string): FolderLock | null {
  const guard = openGuard(folder, name);
  const note = noteOf(folder, name);
  try {
    // The lock database contains no data, so it needs no fsync.
    guard.exec("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE");
    guard.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    guard.close();
    // A file that is not a lock is never released, so it must not be reported as locked.
    if (!isBusy(error)) throw unusable(folder, name, error);
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

export function holderOf(folder: string, name: string): { readonly pid: number } | null {
  try {
    const holder: unknown = JSON.parse(readFileSync(noteOf(folder, name), "utf8"));
    const isOne = typeof holder === "object" && holder !== null && "pid" in holder && typeof holder.pid === "number";
    return isOne && isLocked(folder, name) ? (holder as { readonly pid: number }) : null;
  } catch {
    return null;
  }
}

function isLocked(folder: string, name: string): boolean {
  const guard = openGuard(folder, name, 0);
  try {
    guard.exec("BEGIN EXCLUSIVE");
    return false;
  } catch (error) {
    return isBusy(error);
  } finally {
    guard.close();
  }
}

function openGuard(folder: string, name: string, timeout = LOOK_MS): DatabaseSync {
  try {
    return new DatabaseSync(lockOf(folder, name), { timeout });
  } catch (error) {
    throw unusable(folder, name, error);
  }
}

function isBusy(error: unknown): boolean {
  const { errcode } = error as { readonly errcode?: unknown };
  // The lowest byte of the code is its kind; the rest is detail.
  return typeof errcode === "number" && (errcode & 0xff) === BUSY;
}

function unusable(folder: string, name: string, cause: unknown): Error {
  return new Error(`${lockOf(folder, name)}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
}

const lockOf = (folder: string, name: string) => join(folder, `${name}.lock`);
const noteOf = (folder: string, name: string) => join(folder, `${name}.json`);
