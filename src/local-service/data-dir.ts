import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { LocalServiceError, systemCode } from "./errors.ts";

/** Two hex digits of a random id: shards files into 256 folders. */
function shard(id: string): string {
  return id.slice(id.indexOf("_") + 1).slice(0, 2);
}

function removeLeftovers(folder: string): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
}

/**
 * The folders below the data folder, created where missing, without the partial files of a killed process. Paths in the
 * database are relative to it.
 */
export function openDataDir(root: string) {
  const incoming = join(root, "incoming");
  mkdirSync(incoming, { recursive: true, mode: 0o700 });
  removeLeftovers(incoming);
  return {
    /** Path of an asset's bytes, relative to the root. */
    assetPath: (assetId: string) => join("assets", shard(assetId), assetId),
    uploadPath: (fileId: string) => join("uploads", shard(fileId), fileId),
    absolute: (relative: string) => join(root, relative),
    /** Moves a file to its path; creates the folder when needed. */
    async moveTo(relative: string, from: string): Promise<void> {
      const to = join(root, relative);
      try {
        await rename(from, to);
      } catch (error) {
        if (systemCode(error) !== "ENOENT") throw error;
        await mkdir(dirname(to), { recursive: true, mode: 0o700 });
        await rename(from, to);
      }
    },
  };
}

export type DataDir = ReturnType<typeof openDataDir>;

const NOTE = "service.json";
const GUARD = "service.lock";

/** The running service that holds a data folder. */
export interface RunningService {
  readonly pid: number;
  readonly port: number;
  /** Ends in `/v3`. */
  readonly baseUrl: string;
  /** `<key_id>:<secret>` of its first key. The file that holds it is readable by its owner only. */
  readonly apiKey: string;
  /** ISO-8601. */
  readonly startedAt: string;
}

function isRunningService(value: unknown): value is RunningService {
  if (typeof value !== "object" || value === null) return false;
  return "pid" in value && typeof value.pid === "number" && "baseUrl" in value && typeof value.baseUrl === "string";
}

/** The live service on this folder, if any. */
export function findLocalService(dataDir: string): RunningService | null {
  try {
    const note: unknown = JSON.parse(readFileSync(join(dataDir, NOTE), "utf8"));
    return isRunningService(note) && isLocked(dataDir) ? note : null;
  } catch {
    return null;
  }
}

/** A process's lock on a data folder. */
export interface DataDirLock {
  /** Publishes the service's address for other processes. */
  announce(service: Omit<RunningService, "pid">): void;
  release(): void;
}

/**
 * Locks the folder for this process. The kernel releases the lock when its holder dies, however it dies, so a dead
 * holder never blocks others; the note beside it is for people and for second processes.
 * @throws LocalServiceError `DATA_DIR_IN_USE`, `DATA_DIR_UNUSABLE`
 */
export function lockDataDir(dataDir: string): DataDirLock {
  const guard = openGuard(dataDir);
  const note = join(dataDir, NOTE);
  try {
    // The lock database never holds data, so it needs no fsync.
    guard.exec("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE");
    guard.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    guard.close();
    throw inUse(dataDir, cause);
  }
  return {
    announce(service) {
      const text = JSON.stringify({ pid: process.pid, ...service });
      writeFileSync(`${note}.new`, text, { mode: 0o600 });
      renameSync(`${note}.new`, note);
    },
    release() {
      rmSync(note, { force: true });
      guard.close();
    },
  };
}

/** Whether a live process holds the folder; a note of a dead one stays behind. */
function isLocked(dataDir: string): boolean {
  const guard = new DatabaseSync(join(dataDir, GUARD));
  try {
    guard.exec("BEGIN EXCLUSIVE");
    return false;
  } catch {
    return true;
  } finally {
    guard.close();
  }
}

function openGuard(dataDir: string): DatabaseSync {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    // Another process may look for a moment whether it is locked.
    return new DatabaseSync(join(dataDir, GUARD), { timeout: 200 });
  } catch (cause) {
    const message = `${dataDir} cannot be used as a data folder (${String(cause)}). Choose one that can be written.`;
    throw new LocalServiceError("DATA_DIR_UNUSABLE", message, { cause });
  }
}

function inUse(dataDir: string, cause: unknown): LocalServiceError {
  const holder = findLocalService(dataDir);
  const who = holder ? `Process ${holder.pid} serves it on ${holder.baseUrl}` : "Another process is starting on it";
  const message = `${dataDir} is in use. ${who}. Use that service, stop it, or choose another data folder.`;
  return new LocalServiceError("DATA_DIR_IN_USE", message, { cause });
}
