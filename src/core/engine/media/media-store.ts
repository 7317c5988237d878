import { HOUR_MS } from "../../kit/duration.ts";
import type { HeldMedia } from "./held-media.ts";
import type { NamedCopy } from "./place-file.ts";

/** A stored file's identity: lower-case hex SHA-256, and its size. */
export interface StoredMedia {
  readonly sha256: string;
  readonly sizeBytes: number;
}

export type MediaSource =
  /** `sha256`: the hash from an earlier measurement. If the store has an intact copy of it, the file is not read. */
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
  readonly contentType: string;
  readonly disposition: "inline" | "attachment";
}

/**
 * A content-addressed store. Each content is stored once, written atomically, and durable before a call resolves. Any
 * number of processes, on several machines, may share the store. A folder throws Node's file system errors, such as for
 * a full disk; a bucket throws `MediaBucketError`.
 */
export interface MediaStore {
  /** The folder, or the bucket's URL, for messages. */
  readonly location: string;
  /**
   * Copies bytes into the store unless it already has an intact copy. An event must refer to the bytes within half of
   * {@link GRACE_MS} after this call or {@link MediaStore.touch}, or `gc` may remove them.
   */
  put(source: MediaSource): Promise<StoredMedia>;
  has(sha256: string): Promise<boolean>;
  /** Like {@link MediaStore.has}, but also resets the age of the bytes, because an event will soon refer to them. */
  touch(sha256: string): Promise<boolean>;
  /** Size in bytes. Null if the store does not have the hash. */
  sizeOf(sha256: string): Promise<number | null>;
  /** Path of the stored file, even if it does not exist. Null if the store is not on a local disk. */
  path(sha256: string): string | null;
  /** Provides these bytes as local files. Bytes that have to be fetched are checked against their hash. */
  hold(hashes: Iterable<string>): Promise<HeldMedia>;
  /** Streams the bytes, or a range of them, without checking the hash. @throws MediaMissingError */
  read(sha256: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array>>;
  /** Origin of the URLs from `link`, for a page's content security policy. Null if the store provides no links. */
  linkOrigin(): Promise<string | null>;
  /** URL that works in a browser for a few minutes. Null if the store provides no links. Treat the URL as a secret. */
  link(sha256: string, options: LinkOptions): Promise<string | null>;
  /** A new local path for a download, to be passed to {@link MediaStore.adopt}. */
  tmpPath(): string;
  /** Moves a finished file into the store from a path that {@link MediaStore.tmpPath} returned. */
  adopt(tmpPath: string): Promise<StoredMedia>;
  /**
   * Copies files into `outDir` under their names, replacing older files one by one. Names are made valid on every
   * system, and unique even where case is ignored. Returns the paths relative to `outDir`, with `/`, in the order of
   * `files`. `tag` is part of the names of temporary files, so that those of a killed process can be found. Throws
   * `MediaMissingError` and `MediaPathError`.
   */
  place(files: readonly NamedCopy[], outDir: string, tag: string): Promise<readonly string[]>;
  /** True if a placed file still exists. Its content is not checked. */
  isPlaced(file: string, outDir: string): Promise<boolean>;
  /** Compares the stored bytes with their hash. An unchanged file is read only once per process. */
  verify(sha256: string): Promise<"intact" | "damaged" | "missing">;
  /** Tests, once per process, that bytes can be written. Called before anything is paid for. */
  checkWritable(): Promise<void>;
  readonly garbage: MediaGarbage;
}

/**
 * Minimum age, in milliseconds, at which bytes without a reference are removed. A run may be about to refer to younger
 * bytes. The age is measured by the clock of the machine that stores the bytes.
 */
export const GRACE_MS = HOUR_MS;

/** Maximum number of files that a store reads, writes or sends at once; a plan may contain thousands. */
export const FILES_AT_ONCE = 16;

export interface ListedMedia extends StoredMedia {
  /** Milliseconds since the bytes were last put, touched or discarded. */
  readonly ageMs: number;
}

export interface DiscardedMedia extends ListedMedia {
  /** Identifies this discarded copy, since the same bytes may be discarded repeatedly. */
  readonly id: string;
}

/**
 * Removes bytes without a reference while other processes write and remove. Bytes are first set aside, and restored for
 * any process that asks for them. Bytes that still have no reference later are purged.
 */
export interface MediaGarbage {
  /** Minimum age at which discarded bytes are purged, in milliseconds. */
  readonly purgeAfterMs: number;
  list(): AsyncIterable<ListedMedia>;
  /** Sets bytes aside. Returns false and does nothing if the bytes are missing or were used within {@link GRACE_MS}. */
  discard(sha256: string): Promise<boolean>;
  discarded(): AsyncIterable<DiscardedMedia>;
  /** Restores discarded bytes. The discarded copy may remain. False if the bytes no longer exist. */
  restore(sha256: string): Promise<boolean>;
  purge(discarded: DiscardedMedia): Promise<void>;
  /** Removes leftovers of interrupted writes. Returns their number. */
  removeLeftovers(options: { readonly dryRun: boolean }): Promise<number>;
}

const HASH = /^[0-9a-f]{64}$/;

export function isHash(text: string): boolean {
  return HASH.test(text);
}

/** Protects paths that contain the hash. @throws TypeError if the hash is invalid */
export function checkHash(sha256: string): string {
  if (!isHash(sha256)) throw new TypeError(`"${sha256}" is not a SHA-256 hash in lower-case hexadecimal.`);
  return sha256;
}
