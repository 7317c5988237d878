import { randomUUID } from "node:crypto";
import { DAY_MS } from "../../../kit/duration.ts";
import {
  checkHash,
  type DiscardedMedia,
  GRACE_MS,
  isHash,
  type ListedMedia,
  type MediaGarbage,
} from "../media-store.ts";
import type { Bucket } from "./bucket.ts";

const MEDIA = "media/";
const DISCARDED = "discarded/";

/** Where the bytes of this hash are below the prefix. */
export function keyOf(sha256: string): string {
  return `${MEDIA}${checkHash(sha256).slice(0, 2)}/${sha256}`;
}

/**
 * A bucket cannot move an object, nor delete it only if it is old. So a discarded object is copied before it is deleted, each
 * time to a key of its own, and that copy stays for a day: whoever found the object just before it went, and names it after, is
 * read from there, and the next `gc` puts it back.
 */
export class BucketGarbage implements MediaGarbage {
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
    // The copy stays in any case: another `gc` may rely on it.
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
