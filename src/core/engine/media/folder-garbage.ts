import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type MediaFiles, unlessMissing } from "./media-files.ts";
import {
  checkHash,
  type DiscardedMedia,
  GRACE_MS,
  isHash,
  type ListedMedia,
  type MediaGarbage,
} from "./media-store.ts";

/**
 * Discarded files lie in `discarded`, each under its hash and a name of its own. A rename takes a file away from all others
 * at once, and a touch before it is seen after it: so what somebody counted on meanwhile goes back.
 */
export class FolderGarbage implements MediaGarbage {
  readonly purgeAfterMs = 0;
  readonly #files: MediaFiles;
  #offsetMs: Promise<number> | null = null;

  constructor(files: MediaFiles) {
    this.#files = files;
  }

  /** Epoch milliseconds by the clock of whoever stores the files, which may be another machine. */
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

  /** Temporary files also go when the store is opened. */
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
