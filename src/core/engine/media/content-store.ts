import { hash } from "node:crypto";
import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import PQueue from "p-queue";
import type { Spooled } from "./media-files.ts";
import { FILES_AT_ONCE, type MediaSource, type StoredMedia } from "./media-store.ts";
import { type HeldMedia, isPlaced, type NamedCopy, placeFiles } from "./place-file.ts";

interface Spool {
  tmpPath(): string;
  spool(source: MediaSource): Promise<Spooled>;
  measure(tmpPath: string): Promise<Spooled>;
}

export abstract class ContentStore<Found extends { readonly sizeBytes: number }> {
  readonly #spool: Spool;
  readonly #storing = new Map<string, Promise<StoredMedia>>();
  protected readonly queue = new PQueue({ concurrency: FILES_AT_ONCE });

  constructor(spool: Spool) {
    this.#spool = spool;
  }

  /** Finds stored content. If the content was discarded, restores it first. */
  protected abstract find(sha256: string): Promise<Found | null>;
  /** Resets the age of content that `gc` might otherwise remove. Returns false if `gc` has just removed it. */
  protected abstract touchOld(sha256: string, found: Found): Promise<boolean>;
  protected abstract stored(sha256: string): Promise<StoredMedia | null>;
  /** Stores a temporary file. The file may be moved instead of copied. */
  protected abstract store(spooled: Spooled): Promise<void>;
  abstract hold(hashes: Iterable<string>): Promise<HeldMedia>;

  tmpPath(): string {
    return this.#spool.tmpPath();
  }

  async has(sha256: string): Promise<boolean> {
    return (await this.find(sha256)) !== null;
  }

  async sizeOf(sha256: string): Promise<number | null> {
    return (await this.find(sha256))?.sizeBytes ?? null;
  }

  async touch(sha256: string): Promise<boolean> {
    const found = await this.find(sha256);
    return found !== null && (await this.touchOld(sha256, found));
  }

  async put(source: MediaSource): Promise<StoredMedia> {
    // Reading a stream may take long, so it does not occupy a slot of the queue.
    if ("stream" in source) return this.#storeSpooled(this.#spool.spool(source));
    const expected = "bytes" in source ? hash("sha256", source.bytes) : source.sha256;
    if (expected === undefined) return this.queue.add(() => this.#storeSpooled(this.#spool.spool(source)));
    for (let other = this.#storing.get(expected); other !== undefined; other = this.#storing.get(expected)) {
      const stored = await other.catch(() => null);
      if (stored?.sha256 === expected) return stored;
    }
    const storing = this.queue
      .add(async () => (await this.stored(expected)) ?? this.#storeSpooled(this.#spool.spool(source)))
      .finally(() => this.#storing.delete(expected));
    this.#storing.set(expected, storing);
    return storing;
  }

  adopt(tmpPath: string): Promise<StoredMedia> {
    return this.queue.add(async () => {
      try {
        return await this.#storeSpooled(this.#spool.measure(tmpPath));
      } finally {
        await rm(tmpPath, { force: true });
      }
    });
  }

  place(files: readonly NamedCopy[], outDir: string, tag: string): Promise<readonly string[]> {
    return placeFiles(files, { hold: (sha256) => this.hold([sha256]), outDir: resolve(outDir), tag });
  }

  isPlaced(file: string, outDir: string): Promise<boolean> {
    return isPlaced(file, outDir);
  }

  async #storeSpooled(spooling: Promise<Spooled>): Promise<StoredMedia> {
    const spooled = await spooling;
    try {
      await this.store(spooled);
      return { sha256: spooled.sha256, sizeBytes: spooled.sizeBytes };
    } finally {
      await rm(spooled.path, { force: true });
    }
  }
}
