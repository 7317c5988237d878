import { randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { open } from "../../kit/files.ts";
import { ContentStore } from "./content-store.ts";
import { MediaMissingError } from "./media-errors.ts";
import { bytesOf, MediaFiles, type Spooled, unlessMissing } from "./media-files.ts";
import {
  type ByteRange,
  checkHash,
  type DiscardedMedia,
  GRACE_MS,
  isHash,
  type ListedMedia,
  type MediaGarbage,
  type MediaStore,
  type StoredMedia,
} from "./media-store.ts";
import { type HeldMedia, heldMedia } from "./place-file.ts";

/**
 * If a file was modified more recently than this by the local clock, its modification time is not updated. For older
 * files, the clock of the machine that stores them is used.
 */
const YOUNG_MS = GRACE_MS / 12;

export interface FolderStore extends MediaStore {
  path(sha256: string): string;
  remove(sha256: string): Promise<boolean>;
  hashes(): AsyncIterable<string>;
}

export async function openMediaStore(
  dir: string,
  options: { readonly isReadOnly?: boolean } = {},
): Promise<FolderStore> {
  return new DiskMediaStore(await MediaFiles.open(dir, options));
}

interface StoredFile {
  readonly sizeBytes: number;
  readonly mtimeMs: number;
}

class DiskMediaStore extends ContentStore<StoredFile> implements FolderStore {
  readonly garbage: FolderGarbage;
  readonly #files: MediaFiles;

  constructor(files: MediaFiles) {
    super(files);
    this.#files = files;
    this.garbage = new FolderGarbage(files);
  }

  get location(): string {
    return this.#files.root;
  }

  path(sha256: string): string {
    return this.#files.path(sha256);
  }

  async verify(sha256: string): Promise<"intact" | "damaged" | "missing"> {
    return this.queue.add(async () => {
      const found = await this.#files.verify(sha256);
      return found === "missing" && (await this.garbage.restore(sha256)) ? this.#files.verify(sha256) : found;
    });
  }

  async hold(hashes: Iterable<string>): Promise<HeldMedia> {
    const files = new Map<string, { readonly path: string; readonly sizeBytes: number }>();
    for (const sha256 of new Set(hashes)) {
      const sizeBytes = await this.sizeOf(sha256);
      if (sizeBytes === null) throw new MediaMissingError(sha256, this.location);
      files.set(sha256, { path: this.path(sha256), sizeBytes });
    }
    return heldMedia(files);
  }

  async read(sha256: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array>> {
    if (!(await this.has(sha256))) throw new MediaMissingError(sha256, this.location);
    return bytesOf(this.path(sha256), range);
  }

  /** Does nothing, because opening the store already verified that it is writable. */
  async checkWritable(): Promise<void> {}

  async linkOrigin(): Promise<null> {
    return null;
  }

  async link(): Promise<null> {
    return null;
  }

  async remove(sha256: string): Promise<boolean> {
    return (await unlessMissing(rm(this.path(sha256)).then(() => true))) ?? false;
  }

  hashes(): AsyncIterable<string> {
    return this.#files.hashes();
  }

  protected async stored(sha256: string): Promise<StoredMedia | null> {
    if ((await this.#files.verify(sha256)) !== "intact") return null;
    const found = await this.#stat(sha256);
    return found !== null && (await this.touchOld(sha256, found)) ? { sha256, sizeBytes: found.sizeBytes } : null;
  }

  protected store(spooled: Spooled): Promise<void> {
    return this.#files.keep(spooled);
  }

  protected async find(sha256: string): Promise<StoredFile | null> {
    const found = await this.#stat(sha256);
    return found === null && (await this.garbage.restore(sha256)) ? this.#stat(sha256) : found;
  }

  async #stat(sha256: string): Promise<StoredFile | null> {
    const found = await this.#files.stat(sha256);
    return found && { sizeBytes: found.size, mtimeMs: found.mtimeMs };
  }

  protected async touchOld(sha256: string, { mtimeMs }: StoredFile): Promise<boolean> {
    if (Math.abs(Date.now() - mtimeMs) < YOUNG_MS) return true;
    const now = await this.garbage.now();
    if (now - mtimeMs < GRACE_MS / 2) return true;
    const at = now / 1000;
    const touched = this.#files.keepingVerified(sha256, (path) => utimes(path, at, at)).then(() => true);
    return (await unlessMissing(touched)) ?? false;
  }
}

/** Moves unused files aside before they are deleted. If another process has just touched a file, moves it back. */
class FolderGarbage implements MediaGarbage {
  readonly purgeAfterMs = 0;
  readonly #files: MediaFiles;
  #offsetMs: Promise<number> | null = null;

  constructor(files: MediaFiles) {
    this.#files = files;
  }

  /** Current time on the machine that stores the files, in epoch milliseconds. */
  async now(): Promise<number> {
    this.#offsetMs ??= this.#measureOffset();
    this.#offsetMs.catch(() => {
      this.#offsetMs = null;
    });
    return Date.now() + (await this.#offsetMs);
  }

  async *list(): AsyncIterable<ListedMedia> {
    const now = await this.now();
    for await (const sha256 of this.#files.hashes()) {
      const found = await this.#files.stat(sha256);
      if (found !== null) yield { sha256, sizeBytes: found.size, ageMs: now - found.mtimeMs };
    }
  }

  async discard(sha256: string): Promise<boolean> {
    const target = join(this.#folder, `${checkHash(sha256)}.${randomUUID()}`);
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    if ((await unlessMissing(rename(this.#files.path(sha256), target).then(() => true))) === null) return false;
    const moved = await unlessMissing(stat(target));
    if (moved === null || (await this.now()) - moved.mtimeMs >= GRACE_MS) return moved !== null;
    await this.#putBack(target, sha256);
    return false;
  }

  async *discarded(): AsyncIterable<DiscardedMedia> {
    for (const id of await this.#names()) {
      const found = await unlessMissing(stat(join(this.#folder, id)));
      if (found !== null) yield { id, sha256: id.slice(0, 64), sizeBytes: found.size, ageMs: 0 };
    }
  }

  async restore(sha256: string): Promise<boolean> {
    checkHash(sha256);
    for (const name of await this.#names()) {
      if (name.startsWith(sha256) && (await this.#putBack(join(this.#folder, name), sha256))) return true;
    }
    return (await this.#files.stat(sha256)) !== null;
  }

  async purge({ id }: DiscardedMedia): Promise<void> {
    await rm(join(this.#folder, id), { force: true });
  }

  removeLeftovers(options: { readonly dryRun: boolean }): Promise<number> {
    return this.#files.removeLeftovers(options);
  }

  get #folder(): string {
    return join(this.#files.root, "discarded");
  }

  async #names(): Promise<readonly string[]> {
    const names = (await unlessMissing(readdir(this.#folder))) ?? [];
    return names.filter((name) => isHash(name.slice(0, 64)));
  }

  async #putBack(from: string, sha256: string): Promise<boolean> {
    const target = this.#files.path(sha256);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    return (await unlessMissing(rename(from, target).then(() => true))) ?? false;
  }

  async #measureOffset(): Promise<number> {
    const probe = this.#files.tmpPath();
    const file = await open(probe, "wx", 0o600);
    try {
      await file.writeFile("now");
      return (await file.stat()).mtimeMs - Date.now();
    } finally {
      await file.close();
      await rm(probe, { force: true });
    }
  }
}
