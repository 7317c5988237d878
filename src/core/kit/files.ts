import { createHash, randomUUID } from "node:crypto";
import { fsync, readFileSync, statSync } from "node:fs";
import { chmod, type FileHandle, lstat, open as openByNode, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { promisify } from "node:util";
import { HOUR_MS } from "./duration.ts";

const synced = promisify(fsync);

const MISSING = {
  sync(this: FileHandle): Promise<void> {
    return synced(this.fd);
  },
  [Symbol.asyncDispose](this: FileHandle): Promise<void> {
    return this.close();
  },
};

/** Like `open` from `node:fs/promises`, but also works under Yarn's Plug'n'Play. */
export async function open(...args: Parameters<typeof openByNode>): Promise<FileHandle> {
  const handle = await openByNode(...args);
  if (!(Symbol.asyncDispose in handle)) Object.assign(Object.getPrototypeOf(handle), MISSING);
  return handle;
}

/** Parses a JSON file that the user named. Refuses devices, because reading one may never end. */
export function readJsonFile(path: string): unknown {
  const found = statSync(path);
  if (found.isCharacterDevice() || found.isBlockDevice()) throw new Error("it is a device, not a file");
  return JSON.parse(readFileSync(path, "utf8"));
}

/** Temporary files at least this old can only belong to dead processes. */
export const LEFTOVER_MS = HOUR_MS;

/** Makes a rename in this folder survive a power failure. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export function temporaryTag(writer: string): string {
  return createHash("sha256").update(writer).digest("hex").slice(0, 16);
}

/** Returns a new temporary path. If the process is killed, {@link removeTemporaries} finds the file by its tag. */
export function temporaryPath(folder: string, tag: string): string {
  return join(folder, `.showrunner-${tag}-${randomUUID()}.part`);
}

/** Removes temporary files with these tags that killed processes left in `folder`, but not in its subfolders. */
export async function removeTemporaries(
  folder: string,
  tags: ReadonlySet<string>,
  { olderThanMs = 0, dryRun = false }: { readonly olderThanMs?: number; readonly dryRun?: boolean } = {},
): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  let count = 0;
  for (const name of names) {
    const [, tag] = /^\.showrunner-(.+)-[0-9a-f-]{36}\.part$/.exec(name) ?? [];
    if (tag === undefined || !tags.has(tag)) continue;
    const path = join(folder, name);
    const found = await lstat(path).catch(() => null);
    // A file that is a fraction of a millisecond old seems to be from the future, because `Date.now()` is rounded down.
    if (found?.isFile() !== true || (olderThanMs > 0 && Date.now() - found.mtimeMs < olderThanMs)) continue;
    if (!dryRun) await rm(path, { force: true });
    count += 1;
  }
  return count;
}

/**
 * Writes to a path that a user gave. Replaces a plain file atomically, and writes to anything else (device, pipe, link)
 * in place.
 */
export async function writeDurably(path: string, content: string): Promise<void> {
  const before = await lstat(path).catch(() => null);
  if (before !== null && !before.isFile()) return writeFile(path, content);
  await replaceDurably(path, (file) => file.writeFile(content));
}

/** Replaces a plain file atomically and keeps its mode. `write` gets the open temporary file and its path. */
export async function replaceDurably(
  path: string,
  write: (file: FileHandle, temporary: string) => Promise<void>,
): Promise<void> {
  const before = await lstat(path).catch(() => null);
  const folder = dirname(path);
  const tag = temporaryTag(path);
  await removeTemporaries(folder, new Set([tag]), { olderThanMs: LEFTOVER_MS });
  const tmp = temporaryPath(folder, tag);
  try {
    await writeSynced(tmp, write);
    if (before !== null) await chmod(tmp, before.mode);
    await rename(tmp, path);
  } catch (error) {
    throw named(error, tmp, path);
  } finally {
    await rm(tmp, { force: true }).catch(() => {});
  }
  await syncFolder(folder);
}

async function writeSynced(path: string, write: (file: FileHandle, path: string) => Promise<void>): Promise<void> {
  const file = await open(path, "wx");
  try {
    await write(file, path);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Replaces the temporary path in a system error with the requested path. */
function named(error: unknown, tmp: string, path: string): unknown {
  if (!(error instanceof Error)) return error;
  error.message = error.message.replaceAll(tmp, path);
  return Object.assign(error, { path });
}

/** True if the path is the folder or inside it. Only the text is compared; the caller resolves links. */
export function isWithin(folder: string, path: string): boolean {
  const inner = relative(folder, path);
  return inner !== ".." && !inner.startsWith(`..${sep}`) && !isAbsolute(inner);
}
