import { HOUR_MS } from "../../kit/duration.ts";
import type { HeldMedia } from "./held-media.ts";
import type { NamedCopy } from "./place-file.ts";

/** A stored file's identity: lower-case hex SHA-256, and its size. */
export interface StoredMedia {
  readonly sha256: string;
  readonly sizeBytes: number;
}

export type MediaSource =
  /** `sha256`: the file's hash when measured. If the store has an intact copy with that hash, the file is not read. */
  | { readonly path: string; readonly sha256?: string }
  | { readonly bytes: Uint8Array }
  | { readonly stream: AsyncIterable<Uint8Array> };

/** Bytes from `start` to `end`, inclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Response headers for the target of a link. */
export interface LinkOptions {
  /** The `Content-Type` header. */
  readonly contentType: string;
  /** Whether a browser shows or saves the file. */
  readonly disposition: "inline" | "attachment";
}

/**
 * A content-addressed store: each content is stored once, written atomically, and durable before a call resolves. Any
 * number of processes, on several machines, may share it. Throws Node's errors for the file system, such as a full
 * disk, and `MediaBucketError` for a bucket.
 */
export interface MediaStore {
  /** The folder, or the bucket's URL, for messages. */
  readonly location: string;
  /**
   * Copies bytes into the store unless it has an intact copy. An event must refer to them within half of {@link
   * GRACE_MS} after this call or {@link MediaStore.touch}; `gc` removes older bytes that no run refers to.
   */
  put(source: MediaSource): Promise<StoredMedia>;
  has(sha256: string): Promise<boolean>;
  /** Like {@link MediaStore.has}, but also renews the bytes, because an event will soon refer to them. */
  touch(sha256: string): Promise<boolean>;
  /** Size in bytes; null if the store does not have the hash. */
  sizeOf(sha256: string): Promise<number | null>;
  /** Path of the stored file, even if it does not exist; null if the store is not on a local disk. */
  path(sha256: string): string | null;
  /** Provides these bytes as local files. Fetched files are checked against their hash. */
  hold(hashes: Iterable<string>): Promise<HeldMedia>;
  /** Streams the bytes, or a range of them, without checking the hash. @throws MediaMissingError */
  read(sha256: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array>>;
  /** Origin of the links, for a page's content security policy; null if the store provides no links. */
  linkOrigin(): Promise<string | null>;
  /** A link that works in a browser for a few minutes; null if the store provides no links. Treat it as a secret. */
  link(sha256: string, options: LinkOptions): Promise<string | null>;
  /** A new local path for a download, to be passed to {@link MediaStore.adopt}. */
  tmpPath(): string;
  /** Moves a finished file from a {@link MediaStore.tmpPath} into the store. */
  adopt(tmpPath: string): Promise<StoredMedia>;
  /**
   * Puts copies into `outDir` under their names, replacing older files one by one. Names are made safe for every system
   * and distinct from names that differ only in case. Returns the paths below `outDir`, with `/`, in the order of
   * `files`. `tag` marks temporary files, so that a killed process's files can be found. Throws `MediaMissingError`
   * and `MediaPathError`.
   */
  place(files: readonly NamedCopy[], outDir: string, tag: string): Promise<readonly string[]>;
  /** True if a placed file still exists, whatever it contains. */
  isPlaced(file: string, outDir: string): Promise<boolean>;
  /** Compares the bytes with their hash, but reads an unchanged file only once. `damaged`: the bytes were changed. */
  verify(sha256: string): Promise<"intact" | "damaged" | "missing">;
  /** Verifies, once per process, that bytes can be written. Called before anything is paid for. */
  checkWritable(): Promise<void>;
  readonly garbage: MediaGarbage;
}

/**
 * Minimum age at which unreferenced bytes are removed, since a run may be about to refer to younger bytes. In
 * milliseconds, by the clock of the machine that stores them.
 */
export const GRACE_MS = HOUR_MS;

/** Maximum number of files that a store reads, writes or sends at once; a plan may contain thousands. */
export const FILES_AT_ONCE = 16;

export interface ListedMedia extends StoredMedia {
  /** Milliseconds since the last put, touch or discard. */
  readonly ageMs: number;
}

export interface DiscardedMedia extends ListedMedia {
  /** Distinguishes repeated discards of the same bytes. */
  readonly id: string;
}

/**
 * Removes unreferenced bytes while others write and remove. Bytes are first discarded: set aside, but restored for
 * anyone who asks. If still unreferenced later, they are purged.
 */
export interface MediaGarbage {
  /** Minimum age at which discarded bytes are purged, in milliseconds. */
  readonly purgeAfterMs: number;
  /** Everything in the store, unordered. */
  list(): AsyncIterable<ListedMedia>;
  /** Returns false and does nothing if the bytes are missing or are now younger than {@link GRACE_MS}. */
  discard(sha256: string): Promise<boolean>;
  discarded(): AsyncIterable<DiscardedMedia>;
  /** Restores discarded bytes; a discarded copy may remain. False if the bytes no longer exist. */
  restore(sha256: string): Promise<boolean>;
  purge(discarded: DiscardedMedia): Promise<void>;
  /** Removes what interrupted writers left behind; returns the number of items. */
  removeLeftovers(options: { readonly dryRun: boolean }): Promise<number>;
}

const HASH = /^[0-9a-f]{64}$/;

export function isHash(text: string): boolean {
  return HASH.test(text);
}

/** Returns a valid hash. @throws TypeError for anything else, since the hash becomes part of a path */
export function checkHash(sha256: string): string {
  if (!isHash(sha256)) throw new TypeError(`"${sha256}" is not a SHA-256 in lower-case hex.`);
  return sha256;
}
