import { createHash, hash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, constants, lstat, mkdir, open, opendir, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import PQueue from "p-queue";
import { syncFolder } from "../../durable-file.ts";
import { MediaFolderError } from "./media-errors.ts";
import { type NamedCopy, placeFiles } from "./place-file.ts";

/** What the store knows bytes by: lower-case hex of their SHA-256, and how many there are. */
export interface StoredMedia {
  readonly sha256: string;
  readonly sizeBytes: number;
}

export type MediaSource =
  /** `sha256`: what the file held when it was measured; it is only read where the store has no intact copy of that. */
  | { readonly path: string; readonly sha256?: string }
  | { readonly bytes: Uint8Array }
  | { readonly stream: AsyncIterable<Uint8Array> };

/**
 * Bytes on disk, by content hash: each content once, written whole or not at all, and on the disk (not merely in its
 * cache) before a call settles. Failures of the file system, such as a full disk, come out as Node's own errors.
 */
export interface MediaStore {
  /** Copies bytes into the store, where it has no intact copy of them. */
  put(source: MediaSource): Promise<StoredMedia>;
  has(sha256: string): Promise<boolean>;
  /** Where these bytes are, or would be. Read only: a change there breaks the store's promise. */
  path(sha256: string): string;
  /** A fresh path on the store's own disk, for a download that {@link MediaStore.adopt} then takes in. */
  tmpPath(): string;
  /** Takes in a finished file made at a {@link MediaStore.tmpPath}, which is gone afterwards. */
  adopt(tmpPath: string): Promise<StoredMedia>;
  /**
   * Puts copies under names in `outDir`, replacing older files of those names one by one. The names are made safe for
   * every system, and kept apart from names that differ only in case. Answers the paths below `outDir`, with `/`, in the
   * order of `files`. `tag` is in the names of temporary files, by which the remains of a killed process are found.
   * Throws `MediaMissingError` and `MediaPathError`.
   */
  place(files: readonly NamedCopy[], outDir: string, tag: string): Promise<readonly string[]>;
  /** Reads the bytes and compares, once for as long as the file is not touched: `damaged` when somebody changed them. */
  verify(sha256: string): Promise<"intact" | "damaged" | "missing">;
  /** False when there was nothing to remove. */
  remove(sha256: string): Promise<boolean>;
  /** Every hash in the store, in no order. */
  hashes(): AsyncIterable<string>;
}

/** Files that are read or written at once, whoever asks: a plan may name thousands. */
const FILES_AT_ONCE = 16;
/** Remains of a killed process in the tmp folder go after this long: a slow download may still be writing. */
const leftoverMs = 48 * 3600 * 1000;
const hashPattern = /^[0-9a-f]{64}$/;

/** Opens the store at `dir`, making the folder (for this user only) where there is none. */
export async function openMediaStore(dir: string): Promise<MediaStore> {
  const root = resolve(dir);
  const tmp = join(root, "tmp");
  try {
    await mkdir(tmp, { recursive: true, mode: 0o700 });
    await access(tmp, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new MediaFolderError(root, error);
  }
  await dropLeftovers(tmp);
  return new DiskMediaStore(root, tmp);
}

class DiskMediaStore implements MediaStore {
  readonly #root: string;
  readonly #tmp: string;
  /** What the files were like that this process has written, or read and found intact. */
  readonly #verified = new Map<string, string>();
  /** Copies that are being made, by what they are to be. */
  readonly #copying = new Map<string, Promise<StoredMedia>>();
  readonly #queue = new PQueue({ concurrency: FILES_AT_ONCE });

  constructor(root: string, tmp: string) {
    this.#root = root;
    this.#tmp = tmp;
  }

  path(sha256: string): string {
    if (!hashPattern.test(sha256)) throw new TypeError(`"${sha256}" is no SHA-256 in lower-case hex.`);
    return join(this.#root, sha256.slice(0, 2), sha256);
  }

  tmpPath(): string {
    return join(this.#tmp, randomUUID());
  }

  async has(sha256: string): Promise<boolean> {
    return (await sizeOf(this.path(sha256))) !== null;
  }

  async put(source: MediaSource): Promise<StoredMedia> {
    if ("stream" in source) return this.#copy(source);
    const expected = "bytes" in source ? hash("sha256", source.bytes) : source.sha256;
    if (expected === undefined) return this.#queue.add(() => this.#copy(source));
    for (let other = this.#copying.get(expected); other !== undefined; other = this.#copying.get(expected)) {
      const stored = await other.catch(() => null);
      if (stored?.sha256 === expected) return stored;
    }
    const copying = this.#queue
      .add(async () => (await this.#intact(expected)) ?? this.#copy(source))
      .finally(() => this.#copying.delete(expected));
    this.#copying.set(expected, copying);
    return copying;
  }

  adopt(tmpPath: string): Promise<StoredMedia> {
    return this.#queue.add(() => this.#adopt(tmpPath));
  }

  verify(sha256: string): Promise<"intact" | "damaged" | "missing"> {
    return this.#queue.add(() => this.#verify(sha256));
  }

  async #intact(sha256: string): Promise<StoredMedia | null> {
    if ((await this.#verify(sha256)) !== "intact") return null;
    return { sha256, sizeBytes: (await stat(this.path(sha256))).size };
  }

  async #copy(source: MediaSource): Promise<StoredMedia> {
    const target = this.tmpPath();
    try {
      const stored = await copyHashing(piecesOf(source), target);
      await this.#keep(target, stored);
      return stored;
    } finally {
      await rm(target, { force: true });
    }
  }

  async #adopt(tmpPath: string): Promise<StoredMedia> {
    const file = await open(tmpPath, "r+");
    try {
      const stored = await hashOf(file.createReadStream({ autoClose: false }));
      await file.sync();
      await this.#keep(tmpPath, stored);
      return stored;
    } finally {
      await file.close();
      await rm(tmpPath, { force: true });
    }
  }

  async place(files: readonly NamedCopy[], outDir: string, tag: string): Promise<readonly string[]> {
    return placeFiles(files, {
      ...{ pathOf: (sha256) => this.path(sha256), store: this.#root, outDir: resolve(outDir), tag },
    });
  }

  async #verify(sha256: string): Promise<"intact" | "damaged" | "missing"> {
    const path = this.path(sha256);
    try {
      const stamp = await stampOf(path);
      if (this.#verified.get(sha256) === stamp) return "intact";
      const found = await hashOf(createReadStream(path));
      if (found.sha256 !== sha256) return "damaged";
      this.#verified.set(sha256, stamp);
      return "intact";
    } catch (error) {
      if (isMissing(error)) return "missing";
      throw error;
    }
  }

  async remove(sha256: string): Promise<boolean> {
    try {
      await rm(this.path(sha256));
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  async *hashes(): AsyncIterable<string> {
    for await (const folder of await opendir(this.#root)) {
      if (!folder.isDirectory() || !/^[0-9a-f]{2}$/.test(folder.name)) continue;
      for await (const file of await opendir(join(this.#root, folder.name))) {
        if (hashPattern.test(file.name)) yield file.name;
      }
    }
  }

  /** Moves a whole, synced file to its place; a copy that is there already, even a damaged one, is replaced. */
  async #keep(from: string, { sha256, sizeBytes }: StoredMedia): Promise<void> {
    const target = this.path(sha256);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    try {
      await rename(from, target);
      this.#verified.set(sha256, await stampOf(target));
    } catch (error) {
      // Windows does not replace a file that somebody is reading: that one has the same bytes.
      if ((await sizeOf(target)) !== sizeBytes) throw error;
    }
    await syncFolder(dirname(target));
    await syncFolder(this.#root);
  }
}

function piecesOf(source: MediaSource): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  if ("path" in source) return createReadStream(source.path);
  return "bytes" in source ? [source.bytes] : source.stream;
}

async function copyHashing(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  target: string,
): Promise<StoredMedia> {
  const digest = createHash("sha256");
  const file = await open(target, "wx", 0o600);
  try {
    let sizeBytes = 0;
    for await (const piece of pieces) {
      digest.update(piece);
      sizeBytes += piece.byteLength;
      await file.writeFile(piece);
    }
    await file.sync();
    return { sha256: digest.digest("hex"), sizeBytes };
  } finally {
    await file.close();
  }
}

async function hashOf(pieces: AsyncIterable<Uint8Array>): Promise<StoredMedia> {
  const digest = createHash("sha256");
  let sizeBytes = 0;
  for await (const piece of pieces) {
    digest.update(piece);
    sizeBytes += piece.byteLength;
  }
  return { sha256: digest.digest("hex"), sizeBytes };
}

/** Differs once somebody has touched the file. */
async function stampOf(path: string): Promise<string> {
  const { ino, size, ctimeNs } = await stat(path, { bigint: true });
  return `${ino} ${size} ${ctimeNs}`;
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    const found = await stat(path);
    return found.isFile() ? found.size : null;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

async function dropLeftovers(tmp: string): Promise<void> {
  for await (const entry of await opendir(tmp)) {
    const path = join(tmp, basename(entry.name));
    if (Date.now() - (await lastWritten(path)) > leftoverMs) await rm(path, { force: true, recursive: true });
  }
}

/** Of the folder of a local function, what is in it counts too: it may be writing there. */
async function lastWritten(path: string): Promise<number> {
  const below = await readdir(path).catch(() => []);
  const all = [path, ...below.map((name) => join(path, name))];
  const times = await Promise.all(
    all.map((one) =>
      lstat(one).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  );
  return Math.max(...times);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
