import { createHash } from "node:crypto";
import {
  chmod,
  constants,
  copyFile,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  rm,
} from "node:fs/promises";
import { basename, extname, isAbsolute, join, posix, relative } from "node:path";
import { safeFileName } from "../../api/index.ts";
import { syncFolder, temporaryPath } from "../../durable-file.ts";
import { isDiskError } from "./disk-errors.ts";
import { MediaMissingError, MediaPathError } from "./media-errors.ts";

/** Bytes in a media store. */
export interface StoredFile {
  readonly sha256: string;
  readonly from: string;
  /** The store's folder, for messages. */
  readonly store: string;
}

/** Where a named file goes. */
export interface NamedPlace {
  /** Absolute. */
  readonly outDir: string;
  /** Below it, before it is made safe. */
  readonly name: string;
  /** In the name of its temporary file. */
  readonly tag: string;
}

/** Names are compared with those in the folder, so files come to one folder one after the other. */
const turns = new Map<string, Promise<unknown>>();

/**
 * Puts a copy of the bytes under `name` below `outDir`; answers the path below `outDir`. A copy and not a hard link:
 * who edits the named file in place must not change the only copy of a paid result.
 */
export async function placeFile(stored: StoredFile, place: NamedPlace): Promise<string> {
  return placeBelow(stored, place).catch((error: unknown) => {
    throw pathError(place.outDir, error);
  });
}

async function placeBelow(stored: StoredFile, { outDir, name, tag }: NamedPlace): Promise<string> {
  const segments = safeSegments(name);
  const folder = join(outDir, ...segments.slice(0, -1));
  await makeFolder(outDir, folder);
  const before = turns.get(folder) ?? Promise.resolve();
  const turn = before.then(() => placeIn(stored, folder, { requested: segments.at(-1) ?? "file", tag }));
  const finished = turn.catch(() => undefined);
  turns.set(folder, finished);
  try {
    return posix.join(...segments.slice(0, -1), await turn);
  } finally {
    if (turns.get(folder) === finished) turns.delete(folder);
  }
}

/** The system's word on a path as one that says what to do; anything else as it is. */
function pathError(outDir: string, cause: unknown): unknown {
  const { code, path = outDir, syscall } = cause as NodeJS.ErrnoException;
  if (syscall === undefined || isDiskError(cause)) return cause;
  const message = `Files cannot be put into ${outDir}: the system refuses ${path} (${code}). Make it a folder that this user can write to, or move away what is in its place.`;
  return new MediaPathError(message, { cause });
}

async function placeIn(
  stored: StoredFile,
  folder: string,
  { requested, tag }: { readonly requested: string; readonly tag: string },
): Promise<string> {
  const name = await apartFromOthers(folder, requested);
  const target = join(folder, name);
  await checkReplaceable(target, "a file");
  const tmp = temporaryPath(folder, tag);
  try {
    await copyDurably(stored, tmp);
    await rename(tmp, target);
  } finally {
    await rm(tmp, { force: true });
  }
  await syncFolder(folder);
  return name;
}

/** Only a file or a link gives way to a named file. @throws MediaPathError */
export async function checkReplaceable(target: string, what: string): Promise<void> {
  const found = await lstat(target).catch(() => null);
  if (found === null || found.isFile() || found.isSymbolicLink()) return;
  const kind = found.isDirectory() ? "a folder" : "a device or a pipe";
  throw new MediaPathError(`${target} is ${kind}, and ${what} is to go there. Move it away, then resume.`);
}

async function copyDurably(stored: StoredFile, target: string): Promise<void> {
  // Made empty first for its mode, as the user's own settings would have it; a copy brings the store's private one.
  const mode = await withFile(target, "wx", async (file) => (await file.stat()).mode);
  try {
    // Shares the blocks on file systems that can, which costs neither time nor room.
    await copyFile(stored.from, target, constants.COPYFILE_FICLONE);
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    throw isMissing ? new MediaMissingError(stored.sha256, stored.store) : error;
  }
  await chmod(target, mode);
  await withFile(target, "r+", (file) => file.sync());
}

async function withFile<T>(path: string, flags: string, use: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, flags);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

/** Makes the folder; a symbolic link on the way must not lead out of `outDir`. */
async function makeFolder(outDir: string, folder: string): Promise<void> {
  await mkdir(outDir, { recursive: true });
  const root = await realpath(outDir);
  let reached = root;
  for (const segment of relative(outDir, folder).split(/[\\/]/)) {
    if (segment === "") continue;
    const next = join(reached, segment);
    await mkdir(next).catch((error) => {
      if (error.code !== "EEXIST") throw error;
    });
    reached = await realpath(next);
    const inside = relative(root, reached);
    if (inside.startsWith("..") || isAbsolute(inside)) {
      throw new MediaPathError(
        `${next} leads out of ${outDir}, so no file is put there. Remove that link, then resume.`,
      );
    }
  }
}

function safeSegments(name: string): readonly string[] {
  const segments = name.split(/[\\/]/).filter((segment) => segment !== "");
  return segments.length === 0 ? ["file"] : segments.map(safeSegment);
}

/** Two names that are safe only after a change may become one: a hash of the wanted name keeps them apart. */
function safeSegment(segment: string): string {
  const safe = safeFileName(segment);
  return safe === segment.normalize("NFC") ? safe : withHash(safe, segment);
}

/** A name that differs from another file's only in case would be that file on many systems. */
async function apartFromOthers(folder: string, name: string): Promise<string> {
  const others = await readdir(folder);
  const clashes = others.some((other) => other !== name && foldCase(other) === foldCase(name));
  return clashes && !others.includes(name) ? withHash(name, name) : name;
}

function foldCase(name: string): string {
  return name.normalize("NFC").toUpperCase().toLowerCase();
}

function withHash(safe: string, requested: string): string {
  const extension = extname(safe);
  const hash = createHash("sha256").update(requested).digest("hex").slice(0, 8);
  return `${basename(safe, extension)}-${hash}${extension}`;
}
