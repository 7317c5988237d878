import { link, mkdir, rm, stat } from "node:fs/promises";
import { MediaFiles, type Spooled, unlessMissing } from "../media-files.ts";
import type { MediaSource } from "../media-store.ts";

/** Recently used copies are not evicted, because a process may be about to open them. */
const IN_USE_MS = 10 * 60_000;

/** Each user of a copy gets a separate hard link, so that no process can remove a file in use. */
export class MediaCache {
  readonly #files: MediaFiles;
  readonly #maxBytes: number;
  #usedBytes: number | null = null;

  static async open(dir: string, maxBytes: number): Promise<MediaCache> {
    return new MediaCache(await MediaFiles.open(dir, { isCache: true }), maxBytes);
  }

  private constructor(files: MediaFiles, maxBytes: number) {
    this.#files = files;
    this.#maxBytes = maxBytes;
  }

  tmpPath(): string {
    return this.#files.tmpPath();
  }

  spool(source: MediaSource): Promise<Spooled> {
    return this.#files.spool(source);
  }

  measure(tmpPath: string): Promise<Spooled> {
    return this.#files.measure(tmpPath);
  }

  /** Creates a temporary folder, which the caller must remove. */
  async makeFolder(): Promise<string> {
    const folder = this.#files.tmpPath();
    await mkdir(folder, { mode: 0o700 });
    return folder;
  }

  async link(sha256: string, target: string): Promise<number | null> {
    const found = await this.#files.verify(sha256);
    if (found === "damaged") await rm(this.#files.path(sha256), { force: true });
    if (found !== "intact") return null;
    const linked = await unlessMissing(link(this.#files.path(sha256), target).then(() => stat(target)));
    return linked?.size ?? null;
  }

  async has(sha256: string): Promise<boolean> {
    return (await this.#files.verify(sha256)) === "intact";
  }

  async take(spooled: Spooled): Promise<void> {
    await this.#files.keep(spooled);
    this.#usedBytes = (this.#usedBytes ?? (await this.#count())) + spooled.sizeBytes;
    if (this.#usedBytes > this.#maxBytes) await this.#evict();
  }

  async #count(): Promise<number> {
    return (await this.#copies()).reduce((sum, { size }) => sum + size, 0);
  }

  async #evict(): Promise<void> {
    const copies = (await this.#copies()).toSorted((a, b) => a.usedAt - b.usedAt);
    let used = copies.reduce((sum, { size }) => sum + size, 0);
    for (const { sha256, size, usedAt } of copies) {
      if (used <= this.#maxBytes * 0.9 || Date.now() - usedAt < IN_USE_MS) break;
      await rm(this.#files.path(sha256), { force: true });
      used -= size;
    }
    this.#usedBytes = used;
  }

  async #copies() {
    const copies: { readonly sha256: string; readonly size: number; readonly usedAt: number }[] = [];
    for await (const sha256 of this.#files.hashes()) {
      const found = await this.#files.stat(sha256);
      // Only linking changes this time, so it shows when a copy was last used.
      if (found !== null) copies.push({ sha256, size: found.size, usedAt: found.ctimeMs });
    }
    return copies;
  }
}
