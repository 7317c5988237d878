import { createHash, randomUUID } from "node:crypto";
import { createReadStream, type Stats } from "node:fs";
import { access, constants, lstat, mkdir, opendir, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { isMarkGone, processMark } from "../../journal/host.ts";
import { HOUR_MS } from "../../kit/duration.ts";
import { open, syncFolder } from "../../kit/files.ts";
import { MediaFolderError } from "./media-errors.ts";
import { type ByteRange, checkHash, isHash, type MediaSource, type StoredMedia } from "./media-store.ts";

/** Age, in milliseconds, at which temporary files from other machines are removed. */
const LEFTOVER_MS = 48 * HOUR_MS;

export interface Spooled extends StoredMedia {
  readonly path: string;
}

export class MediaFiles {
  readonly root: string;
  readonly #tmp: string;
  readonly #verified = new Map<string, string>();

  static async open(dir: string, { isCache = false, isReadOnly = false } = {}): Promise<MediaFiles> {
    const root = resolve(dir);
    const tmp = join(root, "tmp");
    if (isReadOnly) return new MediaFiles(root, tmp, isCache);
    try {
      await mkdir(tmp, { recursive: true, mode: 0o700 });
      await access(tmp, constants.R_OK | constants.W_OK | constants.X_OK);
    } catch (error) {
      throw new MediaFolderError(root, error);
    }
    const files = new MediaFiles(root, tmp, isCache);
    await files.removeLeftovers();
    return files;
  }

  /**
   * True if the folder is a cache. Changes to cached files are detected by `mtime`, because hard links change `ctime`.
   */
  readonly #isCache: boolean;

  private constructor(root: string, tmp: string, isCache: boolean) {
    this.root = root;
    this.#tmp = tmp;
    this.#isCache = isCache;
  }

  path(sha256: string): string {
    return join(this.root, checkHash(sha256).slice(0, 2), sha256);
  }

  tmpPath(): string {
    return join(this.#tmp, `${processMark()}.${randomUUID()}`);
  }

  async removeLeftovers({ dryRun = false } = {}): Promise<number> {
    let count = 0;
    for (const name of (await unlessMissing(readdir(this.#tmp))) ?? []) {
      const path = join(this.#tmp, basename(name));
      if (!isMarkedGone(name) && Date.now() - (await lastWritten(path)) <= LEFTOVER_MS) continue;
      if (!dryRun) await rm(path, { force: true, recursive: true });
      count += 1;
    }
    return count;
  }

  async stat(sha256: string): Promise<Stats | null> {
    // Do not follow a symbolic link: in a copied store, it may lead anywhere.
    const found = await unlessMissing(lstat(this.path(sha256)));
    return found?.isFile() ? found : null;
  }

  async spool(source: MediaSource): Promise<Spooled> {
    const path = this.tmpPath();
    try {
      return { path, ...(await copyHashing(piecesOf(source), path)) };
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  }

  async measure(path: string): Promise<Spooled> {
    const file = await open(path, "r+");
    try {
      const stored = await measureBytes(file.createReadStream({ autoClose: false }));
      await file.sync();
      return { path, ...stored };
    } finally {
      await file.close();
    }
  }

  /** Moves a temporary file into the store. Replaces any existing file, because it may be damaged. */
  async keep({ path, sha256, sizeBytes }: Spooled): Promise<void> {
    const target = this.path(sha256);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    try {
      await rename(path, target);
      this.#verified.set(sha256, await this.#stampOf(target));
    } catch (error) {
      // Windows cannot replace an open file, but that file has the same bytes.
      if ((await this.stat(sha256))?.size !== sizeBytes) throw error;
    }
    await syncFolder(dirname(target));
    await syncFolder(this.root);
  }

  /** Compares a file with its hash. Does not read an intact file again until it changes. */
  async verify(sha256: string): Promise<"intact" | "damaged" | "missing"> {
    const path = this.path(sha256);
    const stamp = await unlessMissing(this.#stampOf(path));
    if (stamp === null) return "missing";
    if (this.#verified.get(sha256) === stamp) return "intact";
    const found = await unlessMissing(measureBytes(bytesOf(path)));
    if (found === null) return "missing";
    if (found.sha256 !== sha256) return "damaged";
    this.#verified.set(sha256, stamp);
    return "intact";
  }

  /**
   * Calls `change` with the file's path. `change` may modify the file's timestamps but not its content, so the file
   * need not be verified again.
   */
  async keepingVerified(sha256: string, change: (path: string) => Promise<void>): Promise<void> {
    const path = this.path(sha256);
    const wasVerified = this.#verified.get(sha256) === (await unlessMissing(this.#stampOf(path)));
    await change(path);
    if (wasVerified) this.#verified.set(sha256, await this.#stampOf(path));
  }

  async #stampOf(path: string): Promise<string> {
    const { ino, size, ctimeNs, mtimeNs } = await stat(path, { bigint: true });
    return `${ino} ${size} ${this.#isCache ? mtimeNs : ctimeNs}`;
  }

  async *hashes(): AsyncIterable<string> {
    for await (const folder of await opendir(this.root)) {
      if (!folder.isDirectory() || !/^[0-9a-f]{2}$/.test(folder.name)) continue;
      for await (const file of await opendir(join(this.root, folder.name))) {
        if (isHash(file.name)) yield file.name;
      }
    }
  }
}

export async function unlessMissing<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

function piecesOf(source: MediaSource): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  if ("path" in source) return bytesOf(source.path);
  return "bytes" in source ? [source.bytes] : source.stream;
}

/** Streams a file. Opens it only when reading starts, because an error in an unread stream would end the process. */
export async function* bytesOf(path: string, range?: ByteRange): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path, range);
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

export async function measureBytes(pieces: AsyncIterable<Uint8Array>): Promise<StoredMedia> {
  const digest = createHash("sha256");
  let sizeBytes = 0;
  for await (const piece of pieces) {
    digest.update(piece);
    sizeBytes += piece.byteLength;
  }
  return { sha256: digest.digest("hex"), sizeBytes };
}

function isMarkedGone(name: string): boolean {
  const [, mark] = /^\.?((?:[0-9a-f]{6}-){3}\d+-[0-9a-f]{6})\./.exec(name) ?? [];
  return mark !== undefined && isMarkGone(mark);
}

async function lastWritten(path: string): Promise<number> {
  const below = await readdir(path).catch(() => []);
  const all = [path, ...below.map((name) => join(path, name))];
  const times = await Promise.all(
    all.map((path) =>
      lstat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  );
  return Math.max(...times);
}
