import { createHash } from "node:crypto";
import {
  chmod,
  constants,
  copyFile,
  type FileHandle,
  lstat,
  mkdir,
  readdir,
  realpath,
  rename,
  rm,
} from "node:fs/promises";
import { basename, dirname, extname, isAbsolute, join, posix, relative } from "node:path";
import PQueue from "p-queue";
import { safeFileName } from "../../kit/file-name.ts";
import { open, removeTemporaries, syncFolder, temporaryPath } from "../../kit/files.ts";
import { type Mark, writeMarked } from "../../marks/index.ts";
import { isDiskError, MediaPathError } from "./media-errors.ts";

/** A file to copy from the media store, and the name of its copy. */
export interface NamedCopy {
  readonly sha256: string;
  readonly name: string;
  /** The provenance mark to write into the copy. Default: the copy is unchanged. */
  readonly mark?: Mark;
}

export interface Placing {
  readonly hold: (sha256: string) => Promise<HeldMedia>;
  readonly outDir: string;
  readonly tag: string;
}

const COPIES_AT_ONCE = 8;

const turns = new Map<string, Promise<unknown>>();

/**
 * Copies files into a folder. Makes no hard links, because editing a file must not change the only copy of a paid
 * result.
 */
export async function placeFiles(files: readonly NamedCopy[], placing: Placing): Promise<readonly string[]> {
  try {
    const byFolder = Map.groupBy(
      files.map((file, index) => ({ ...file, index, segments: safeSegments(file.name) })),
      ({ segments }) => posix.join("", ...segments.slice(0, -1)),
    );
    const placed: string[] = [];
    for (const [below, copies] of byFolder) {
      const folder = await makeFolder(placing.outDir, join(placing.outDir, below));
      const requested = copies.map(({ segments, ...copy }) => ({ ...copy, name: segments.at(-1)! }));
      const names = await inTurn(folder, () => placeInFolder(requested, folder, placing));
      for (const [at, { index }] of copies.entries()) placed[index] = posix.join(below, names[at]!);
    }
    return placed;
  } catch (error) {
    throw pathError(placing.outDir, error);
  }
}

export function isPlaced(file: string, outDir: string): Promise<boolean> {
  return lstat(join(outDir, file)).then(
    () => true,
    () => false,
  );
}

async function inTurn<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const turn = (turns.get(folder) ?? Promise.resolve()).then(work);
  const finished = turn.catch(() => undefined);
  turns.set(folder, finished);
  try {
    return await turn;
  } finally {
    if (turns.get(folder) === finished) turns.delete(folder);
  }
}

function pathError(outDir: string, cause: unknown): unknown {
  const { code, path = outDir, syscall } = cause as NodeJS.ErrnoException;
  if (syscall === undefined || isDiskError(cause)) return cause;
  const message = `Cannot write files to ${outDir}: the system refused access to ${path} (${code}). Give this user write access to that path, or move whatever is there out of the way.`;
  return new MediaPathError(message, { cause });
}

async function placeInFolder(
  files: readonly NamedCopy[],
  folder: string,
  placing: Placing,
): Promise<readonly string[]> {
  await removeTemporaries(folder, new Set([placing.tag]));
  const others = new NamesInFolder(await readdir(folder));
  const names = files.map(({ name }) => others.add(name));
  // If two copies have the same name, the later one wins.
  const last = new Map(names.map((name, at) => [name, files[at]!]));
  const queue = new PQueue({ concurrency: COPIES_AT_ONCE });
  const copies = [...last].map(
    ([name, copy]) =>
      () =>
        placeCopy(copy, join(folder, name), placing),
  );
  try {
    await queue.addAll(copies);
  } finally {
    queue.clear();
    await queue.onIdle();
  }
  await syncFolder(folder);
  return names;
}

async function placeCopy(copy: NamedCopy, target: string, placing: Placing): Promise<void> {
  await checkReplaceable(target, "a file");
  const tmp = temporaryPath(dirname(target), placing.tag);
  try {
    await copyDurably(copy, tmp, placing);
    await rename(tmp, target);
  } catch (error) {
    await rm(tmp, { force: true });
    throw error;
  }
}

export async function checkReplaceable(target: string, what: string): Promise<void> {
  const found = await lstat(target).catch(() => null);
  if (found === null || found.isFile() || found.isSymbolicLink()) return;
  const kind = found.isDirectory() ? "a folder" : "a device or a pipe";
  throw new MediaPathError(`${target} is ${kind}, but ${what} must be written there. Move or rename it, then resume.`);
}

async function copyDurably({ sha256, mark }: NamedCopy, target: string, { hold }: Placing): Promise<void> {
  await using held = await hold(sha256);
  // Create the file empty first to get the user's default mode. Copying would keep the store's private mode.
  let isWritten = false;
  const mode = await withFile(target, "wx", async (file) => {
    if (mark !== undefined) isWritten = (await writeMarked(held.path(sha256), file, mark)).status === "marked";
    return (await file.stat()).mode;
  });
  // Share disk blocks if the file system supports this, which takes no time or space.
  if (!isWritten) await copyFile(held.path(sha256), target, constants.COPYFILE_FICLONE);
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

const roots = new Map<string, string>();

async function rootOf(outDir: string): Promise<string> {
  await mkdir(outDir, { recursive: true });
  const root = await realpath(outDir);
  const before = roots.get(outDir) ?? root;
  roots.set(outDir, before);
  if (before === root) return root;
  throw new MediaPathError(
    `${outDir} resolved to ${before} but now resolves to ${root}, so no file was written. Restore the folder, then resume.`,
  );
}

async function makeFolder(outDir: string, folder: string): Promise<string> {
  const root = await rootOf(outDir);
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
        `${next} is a link that points outside ${outDir}, so no file was written there. Remove the link, then resume.`,
      );
    }
  }
  return reached;
}

function safeSegments(name: string): readonly string[] {
  const segments = name.split(/[\\/]/).filter((segment) => segment !== "");
  return segments.length === 0 ? ["file"] : segments.map(safeSegment);
}

/**
 * Returns a valid path segment. If the original is invalid, the result contains a hash of it, so that two names never
 * collide.
 */
function safeSegment(segment: string): string {
  const safe = safeFileName(segment);
  return safe === segment.normalize("NFC") ? safe : withHash(safe, segment);
}

class NamesInFolder {
  readonly #byFolded: Map<string, Set<string>>;

  constructor(names: readonly string[]) {
    this.#byFolded = new Map(names.map((name) => [foldCase(name), new Set()]));
    for (const name of names) this.#byFolded.get(foldCase(name))!.add(name);
  }

  add(requested: string): string {
    const alike = this.#byFolded.get(foldCase(requested));
    const name = alike === undefined || alike.has(requested) ? requested : withHash(requested, requested);
    this.#byFolded.set(foldCase(name), (this.#byFolded.get(foldCase(name)) ?? new Set()).add(name));
    return name;
  }
}

function foldCase(name: string): string {
  return name.normalize("NFC").toUpperCase().toLowerCase();
}

function withHash(safe: string, requested: string): string {
  const extension = extname(safe);
  const hash = createHash("sha256").update(requested).digest("hex").slice(0, 8);
  return `${basename(safe, extension)}-${hash}${extension}`;
}

/** Stored media as local files. The files are read-only, and remain in place until released. */
export interface HeldMedia extends AsyncDisposable {
  /** Returns the path of the file with this hash. Throws if the hash was not requested. */
  path(sha256: string): string;
  sizeBytes(sha256: string): number;
}

interface HeldFile {
  readonly path: string;
  readonly sizeBytes: number;
}

export function heldMedia(files: ReadonlyMap<string, HeldFile>, release = async () => {}): HeldMedia {
  const file = (sha256: string) => {
    const found = files.get(sha256);
    if (found === undefined) throw new Error(`${sha256} is not held.`);
    return found;
  };
  return {
    path: (sha256) => file(sha256).path,
    sizeBytes: (sha256) => file(sha256).sizeBytes,
    [Symbol.asyncDispose]: release,
  };
}
