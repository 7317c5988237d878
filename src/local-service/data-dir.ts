import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type FolderLock, holderOf, lockFolder } from "../core/kit/folder-lock.ts";
import { LocalServiceError, systemCode } from "./errors.ts";

function shard(id: string): string {
  return id.slice(id.indexOf("_") + 1).slice(0, 2);
}

const LEFTOVER = /^(?:file_|asset_|render-)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.[0-9a-f-]{36}\.part)?$/;

function removeLeftovers(folder: string): void {
  for (const found of readdirSync(folder, { withFileTypes: true }))
    if (found.isFile() && LEFTOVER.test(found.name)) rmSync(join(folder, found.name), { force: true });
}

export function openDataDir(root: string) {
  const incoming = join(root, "incoming");
  mkdirSync(incoming, { recursive: true, mode: 0o700 });
  removeLeftovers(incoming);
  return {
    assetPath: (assetId: string) => join("assets", shard(assetId), assetId),
    uploadPath: (fileId: string) => join("uploads", shard(fileId), fileId),
    /** Returns the path for a file that is being received. A file that remains there is removed at the next start. */
    incoming: (id: string) => join(incoming, id),
    absolute: (relative: string) => join(root, relative),
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

const LOCK = "service";

/** A running service, found through its data folder. */
export interface RunningService {
  readonly pid: number;
  readonly port: number;
  /** URL of the API, ending in `/v3`. */
  readonly baseUrl: string;
  /** `<key_id>:<secret>` of the service's first key. */
  readonly apiKey: string;
  readonly startedAt: string;
}

/** Finds the running service that uses this folder. Returns null if there is none. */
export function findLocalService(dataDir: string): RunningService | null {
  const holder = holderOf(dataDir, LOCK);
  return holder !== null && "baseUrl" in holder && typeof holder.baseUrl === "string"
    ? (holder as RunningService)
    : null;
}

export function lockDataDir(dataDir: string): FolderLock {
  let lock: FolderLock | null;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    lock = lockFolder(dataDir, LOCK);
  } catch (cause) {
    const message = `${dataDir} cannot be used as a data folder (${String(cause)}). Choose a writable folder.`;
    throw new LocalServiceError("DATA_DIR_UNUSABLE", message, { cause });
  }
  if (lock !== null) return lock;
  const holder = findLocalService(dataDir);
  const who = holder ? `the service at ${holder.baseUrl} (process ${holder.pid})` : "a service that is starting";
  const message = `${dataDir} is in use by ${who}. Use that service, stop it, or choose another data folder.`;
  throw new LocalServiceError("DATA_DIR_IN_USE", message);
}
