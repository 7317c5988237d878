import { HOUR_MS } from "../../kit/duration.ts";
import type { HeldMedia, NamedCopy } from "./place-file.ts";

/** A stored file's SHA-256 hash, in lower-case hex, and its size. */
export interface StoredMedia {
  readonly sha256: string;
  readonly sizeBytes: number;
}

export type MediaSource =
  /** A file and, if already known, its SHA-256 hash. If the store already has an intact copy, the file is not read. */
  | { readonly path: string; readonly sha256?: string }
  | { readonly bytes: Uint8Array }
  | { readonly stream: AsyncIterable<Uint8Array> };

/** Bytes from `start` to `end`, inclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Headers to send with content that is fetched through a link. */
export interface LinkOptions {
  readonly contentType: string;
  readonly disposition: "inline" | "attachment";
}

/**
 * A content-addressed store that several processes can share. Methods throw Node's file system errors if the store is a
 * folder, and `MediaBucketError` if it is a bucket.
 */
export interface MediaStore {
  /** The path of the folder or the URL of the bucket, for use in messages. */
  readonly location: string;
  /**
   * Copies content into the store unless an intact copy is already there. `gc` keeps the content for at least half of
   * {@link GRACE_MS}, and while an event refers to it.
   */
  put(source: MediaSource): Promise<StoredMedia>;
  has(sha256: string): Promise<boolean>;
  /** Like {@link MediaStore.has}, but also resets the content's age. */
  touch(sha256: string): Promise<boolean>;
  /** Returns the size in bytes; null if the store does not have the hash. */
  sizeOf(sha256: string): Promise<number | null>;
  /** Returns the path of the stored file, even if it does not exist; null if the store is not on a local disk. */
  path(sha256: string): string | null;
  /** Provides stored content as local files. Checks content that was fetched from a bucket against its hash. */
  hold(hashes: Iterable<string>): Promise<HeldMedia>;
  /** Streams the content, or a range of it, without checking the hash. @throws MediaMissingError */
  read(sha256: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Returns the origin of the URLs from `link`, for a page's content security policy; null if the store provides no
   * links.
   */
  linkOrigin(): Promise<string | null>;
  /**
   * Returns a URL that works in a browser for a few minutes and must be kept secret; null if the store provides no
   * links.
   */
  link(sha256: string, options: LinkOptions): Promise<string | null>;
  /** Returns a new local path for a download, to be passed to {@link MediaStore.adopt}. */
  tmpPath(): string;
  /** Moves a finished file into the store from a path that {@link MediaStore.tmpPath} returned. */
  adopt(tmpPath: string): Promise<StoredMedia>;
  /**
   * Copies files into `outDir` under valid and unique names. Returns their relative paths, with `/`, in the order of
   * `files`. `tag` marks temporary files, so that those left by a killed process can be found.
   */
  place(files: readonly NamedCopy[], outDir: string, tag: string): Promise<readonly string[]>;
  /** True if a placed file still exists. Its content is not checked. */
  isPlaced(file: string, outDir: string): Promise<boolean>;
  /** Compares the stored content with its hash. Reads an unchanged file only once per process. */
  verify(sha256: string): Promise<"intact" | "damaged" | "missing">;
  /** Tests, once per process, that the store can be written to. */
  checkWritable(): Promise<void>;
  readonly garbage: MediaGarbage;
}

/** Content younger than this is never removed, because a run may be about to refer to it. */
export const GRACE_MS = HOUR_MS;

export const FILES_AT_ONCE = 16;

export interface ListedMedia extends StoredMedia {
  /** Milliseconds since the content was last stored, touched or discarded. */
  readonly ageMs: number;
}

export interface DiscardedMedia extends ListedMedia {
  /** Distinguishes this copy from other discarded copies of the same content. */
  readonly id: string;
}

/**
 * Removes unreferenced content in two stages. It is first discarded, and later purged unless a process has requested it
 * in the meantime.
 */
export interface MediaGarbage {
  /** Minimum age at which discarded content is purged, in milliseconds. */
  readonly purgeAfterMs: number;
  list(): AsyncIterable<ListedMedia>;
  /** Sets content aside. If it is missing or was used within {@link GRACE_MS}, does nothing and returns false. */
  discard(sha256: string): Promise<boolean>;
  discarded(): AsyncIterable<DiscardedMedia>;
  /** Restores discarded content. Returns false if it no longer exists. */
  restore(sha256: string): Promise<boolean>;
  purge(discarded: DiscardedMedia): Promise<void>;
  /** Removes leftovers of interrupted writes, and returns how many there were. `dryRun` only counts them. */
  removeLeftovers(options: { readonly dryRun: boolean }): Promise<number>;
}

const HASH = /^[0-9a-f]{64}$/;

export function isHash(text: string): boolean {
  return HASH.test(text);
}

export function checkHash(sha256: string): string {
  if (!isHash(sha256)) throw new TypeError(`"${sha256}" is not a SHA-256 hash in lower-case hexadecimal.`);
  return sha256;
}
