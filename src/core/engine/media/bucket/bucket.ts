import type { Spooled } from "../media-files.ts";
import type { LinkOptions } from "../media-store.ts";

export interface BucketObject {
  readonly key: string;
  readonly sizeBytes: number;
  /** Milliseconds since it was written or copied, by the bucket's own clock. */
  readonly ageMs: number;
}

export interface BucketProbe {
  /** How far the bucket's clock is ahead of this machine's, milliseconds; its `Date` has whole seconds. */
  readonly clockOffsetMs: number;
}

/** An object, or a part of it, as it comes. */
export interface BucketBody {
  readonly body: AsyncIterable<Uint8Array>;
  /** Of the whole object. */
  readonly sizeBytes: number;
}

/**
 * Objects under the keys of one prefix. An object is visible whole or not at all, and what is answered is true for every
 * reader from then on. Throws `MediaBucketError`.
 */
export interface Bucket {
  /** The bucket and prefix as a URL, without options. */
  readonly location: string;
  head(key: string): Promise<BucketObject | null>;
  put(key: string, file: Spooled): Promise<void>;
  get(key: string, range?: { readonly start: number; readonly end?: number }): Promise<BucketBody | null>;
  /** A copy that is new, also of an object onto itself. False when there is none. */
  copy(from: BucketObject, to: string): Promise<boolean>;
  delete(key: string): Promise<void>;
  list(prefix: string): AsyncIterable<BucketObject>;
  /** Writes, reads and deletes a small object; throws what is wrong with one of these. */
  probe(): Promise<BucketProbe>;
  /** Where links lead; null where none are to be given. */
  linkOrigin(): Promise<string | null>;
  link(key: string, options: LinkOptions): Promise<string | null>;
  /** Aborts uploads that were begun longer ago than this and never finished; answers how many. */
  abortUploads(options: { readonly olderThanMs: number; readonly dryRun: boolean }): Promise<number>;
}
