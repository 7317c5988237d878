import { randomUUID } from "node:crypto";
import { link, mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { DAY_MS } from "../../../kit/duration.ts";
import { ContentStore } from "../content-store.ts";
import { damagedBucket, MediaBucketError, MediaMissingError } from "../media-errors.ts";
import { MediaFiles, type Spooled, unlessMissing } from "../media-files.ts";
import {
  type ByteRange,
  checkHash,
  type DiscardedMedia,
  GRACE_MS,
  isHash,
  type LinkOptions,
  type ListedMedia,
  type MediaGarbage,
  type MediaSource,
  type MediaStore,
  type StoredMedia,
} from "../media-store.ts";
import { type HeldMedia, heldMedia } from "../place-file.ts";
import { type Bucket, type BucketObject, fetchObject } from "./bucket.ts";

export class BucketStore extends ContentStore<BucketObject> implements MediaStore {
  readonly garbage: BucketGarbage;
  readonly #bucket: Bucket;
  readonly #cache: MediaCache;
  readonly #damaged = new Set<string>();
  readonly #fetching = new Map<string, Promise<void>>();
  #writable: Promise<void> | null = null;

  constructor(bucket: Bucket, cache: MediaCache) {
    super(cache);
    this.#bucket = bucket;
    this.#cache = cache;
    this.garbage = new BucketGarbage(bucket);
  }

  get location(): string {
    return this.#bucket.location;
  }

  path(): null {
    return null;
  }

  /** Checks an object. If the object is missing or truncated, uploads the cached copy again. */
  async verify(sha256: string): Promise<"intact" | "damaged" | "missing"> {
    const found = this.#damaged.has(sha256) ? null : await this.find(sha256);
    const folder = await this.#cache.makeFolder();
    try {
      const path = join(folder, sha256);
      const sizeBytes = await this.#cache.link(sha256, path);
      if (sizeBytes !== null) {
        if (found?.sizeBytes !== sizeBytes) await this.#send({ path, sha256, sizeBytes });
        return "intact";
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    try {
      await this.#fetched(sha256);
      return "intact";
    } catch (error) {
      if (error instanceof MediaMissingError) return "missing";
      if (error instanceof MediaBucketError && error.reason === "damaged") return "damaged";
      throw error;
    }
  }

  async hold(hashes: Iterable<string>): Promise<HeldMedia> {
    const wanted = [...new Set(hashes)];
    if (wanted.length === 0) return heldMedia(new Map());
    const folder = await this.#cache.makeFolder();
    const release = () => rm(folder, { recursive: true, force: true });
    try {
      const files = await Promise.all(
        wanted.map(async (sha256) => {
          const path = join(folder, sha256);
          return [sha256, { path, sizeBytes: await this.#linked(sha256, path) }] as const;
        }),
      );
      return heldMedia(new Map(files), release);
    } catch (error) {
      await release();
      throw error;
    }
  }

  async read(sha256: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array>> {
    const key = keyOf(sha256);
    const found =
      (await this.#bucket.get(key, range)) ?? ((await this.find(sha256)) && (await this.#bucket.get(key, range)));
    if (found === null) throw new MediaMissingError(sha256, this.location);
    return found.body;
  }

  checkWritable(): Promise<void> {
    this.#writable ??= this.#bucket.probe().then(() => {});
    this.#writable.catch(() => {
      this.#writable = null;
    });
    return this.#writable;
  }

  linkOrigin(): Promise<string | null> {
    return this.#bucket.linkOrigin();
  }

  link(sha256: string, options: LinkOptions): Promise<string | null> {
    return this.#bucket.link(keyOf(sha256), options);
  }

  protected async find(sha256: string): Promise<BucketObject | null> {
    const found = await this.#bucket.head(keyOf(sha256));
    if (found !== null || !(await this.garbage.restore(sha256))) return found;
    return this.#bucket.head(keyOf(sha256));
  }

  protected async stored(sha256: string): Promise<StoredMedia | null> {
    const found = this.#damaged.has(sha256) ? null : await this.#bucket.head(keyOf(sha256));
    if (found === null || !(await this.touchOld(sha256, found))) return null;
    return { sha256, sizeBytes: found.sizeBytes };
  }

  protected async touchOld(_sha256: string, found: BucketObject): Promise<boolean> {
    return found.ageMs < GRACE_MS / 2 || this.#bucket.copy(found, found.key);
  }

  protected async store(spooled: Spooled): Promise<void> {
    const stored = await this.stored(spooled.sha256);
    if (stored?.sizeBytes !== spooled.sizeBytes) await this.#send(spooled);
    await this.#cache.take(spooled);
  }

  async #send(spooled: Spooled): Promise<void> {
    await this.#bucket.put(keyOf(spooled.sha256), spooled);
    this.#damaged.delete(spooled.sha256);
  }

  async #linked(sha256: string, target: string): Promise<number> {
    for (;;) {
      const sizeBytes = await this.#cache.link(sha256, target);
      if (sizeBytes !== null) return sizeBytes;
      await this.#fetched(sha256);
    }
  }

  #fetched(sha256: string): Promise<void> {
    const fetching =
      this.#fetching.get(sha256) ??
      this.queue.add(() => this.#fetch(sha256)).finally(() => this.#fetching.delete(sha256));
    this.#fetching.set(sha256, fetching);
    return fetching;
  }

  async #fetch(sha256: string): Promise<void> {
    if (await this.#cache.has(sha256)) return;
    const found = await this.find(sha256);
    if (found === null) throw new MediaMissingError(sha256, this.location);
    // Try twice, because bytes may be corrupted in transit.
    const isFetched = (await this.#fetchOnce(found, sha256)) || (await this.#fetchOnce(found, sha256));
    if (isFetched) return;
    this.#damaged.add(sha256);
    throw damagedBucket(`The object ${sha256} in ${this.location} is damaged: its bytes do not match its hash.`);
  }

  async #fetchOnce(found: BucketObject, sha256: string): Promise<boolean> {
    const spooled = await this.#cache.spool({ stream: fetchObject(this.#bucket, found) });
    try {
      if (spooled.sha256 !== sha256) return false;
      await this.#cache.take(spooled);
      return true;
    } finally {
      await rm(spooled.path, { force: true });
    }
  }
}

const MEDIA = "media/";
const DISCARDED = "discarded/";

function keyOf(sha256: string): string {
  return `${MEDIA}${checkHash(sha256).slice(0, 2)}/${sha256}`;
}

/**
 * Deletes objects in two steps: moves them aside, then deletes them for good a day later. Until then, an object that
 * another process still needs can be restored.
 */
class BucketGarbage implements MediaGarbage {
  readonly purgeAfterMs = DAY_MS;
  readonly #bucket: Bucket;

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
  }

  async *list(): AsyncIterable<ListedMedia> {
    for await (const { key, sizeBytes, ageMs } of this.#bucket.list(MEDIA)) {
      const sha256 = key.slice(key.lastIndexOf("/") + 1);
      if (isHash(sha256)) yield { sha256, sizeBytes, ageMs };
    }
  }

  async discard(sha256: string): Promise<boolean> {
    const key = keyOf(sha256);
    const found = await this.#bucket.head(key);
    if (found === null || found.ageMs < GRACE_MS) return false;
    if (!(await this.#bucket.copy(found, `${DISCARDED}${sha256}/${randomUUID()}`))) return false;
    const now = await this.#bucket.head(key);
    // Always keep the copy, because another `gc` may rely on it.
    if (now === null || now.ageMs < GRACE_MS) return false;
    await this.#bucket.delete(key);
    return true;
  }

  async *discarded(): AsyncIterable<DiscardedMedia> {
    for await (const { key, sizeBytes, ageMs } of this.#bucket.list(DISCARDED)) {
      const sha256 = key.slice(DISCARDED.length).split("/")[0]!;
      if (isHash(sha256)) yield { id: key, sha256, sizeBytes, ageMs };
    }
  }

  async restore(sha256: string): Promise<boolean> {
    const key = keyOf(sha256);
    if ((await this.#bucket.head(key)) !== null) return true;
    for await (const found of this.#bucket.list(`${DISCARDED}${sha256}/`)) {
      if (await this.#bucket.copy(found, key)) return true;
    }
    return false;
  }

  purge({ id }: DiscardedMedia): Promise<void> {
    return this.#bucket.delete(id);
  }

  removeLeftovers({ dryRun }: { readonly dryRun: boolean }): Promise<number> {
    return this.#bucket.abortUploads({ olderThanMs: DAY_MS, dryRun });
  }
}

/** Copies used within this period, in milliseconds, are not evicted, because a process may be about to open them. */
const IN_USE_MS = 10 * 60_000;

/**
 * Caches media on the local disk. Callers get hard links to the copies, so that evicting a copy never removes a file in
 * use.
 */
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
