import { HOUR_MS } from "../../kit/duration.ts";
import type { HeldMedia } from "./held-media.ts";
import type { NamedCopy } from "./place-file.ts";

/** What the store knows bytes by: lower-case hex of their SHA-256, and how many there are. */
export interface StoredMedia {
  readonly sha256: string;
  readonly sizeBytes: number;
}

export type MediaSource =
  /** `sha256`: what the file held when it was measured; it is only read where the store has no intact copy of that. */
  | { readonly path: string; readonly sha256?: string }
  | { readonly bytes: Uint8Array }
  | { readonly stream: AsyncIterable<Uint8Array> };

/** Bytes from `start` to `end`, both included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** What a browser is sent about the bytes that a link leads to. */
export interface LinkOptions {
  readonly contentType: string;
  readonly disposition: "inline" | "attachment";
}

/**
 * Bytes by content hash: each content once, visible whole or not at all, and durable before a call settles. Any number of
 * processes, on one machine or several, may use one store. Failures of the file system, such as a full disk, come out as
 * Node's own errors; those of a bucket as `MediaBucketError`.
 */
export interface MediaStore {
  /** The folder, or the bucket's URL, for messages. */
  readonly location: string;
  /**
   * Copies bytes into the store, where it has no intact copy of them. An event must name them within half of
   * {@link GRACE_MS} of this, or of {@link MediaStore.touch}: `gc` removes what is older and named by no run.
   */
  put(source: MediaSource): Promise<StoredMedia>;
  has(sha256: string): Promise<boolean>;
  /** As {@link MediaStore.has}, for bytes that an event is about to name. */
  touch(sha256: string): Promise<boolean>;
  /** Bytes in all; null where the store has none with that hash. */
  sizeOf(sha256: string): Promise<number | null>;
  /** The file in which the store itself keeps these bytes, or would; null where it keeps them on no disk of this machine. */
  path(sha256: string): string | null;
  /** Sees to it that these bytes are in files on this machine, compared with their hash if they had to be fetched. */
  hold(hashes: Iterable<string>): Promise<HeldMedia>;
  /** The bytes, or a part of them, as they come; not compared with their hash. @throws MediaMissingError */
  read(sha256: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array>>;
  /** Where links lead, as a page's security policy has to know it; null where the store gives none. */
  linkOrigin(): Promise<string | null>;
  /** A link that works for a few minutes, for a browser; null where the store gives none. It is a secret. */
  link(sha256: string, options: LinkOptions): Promise<string | null>;
  /** A fresh path on this machine, for a download that {@link MediaStore.adopt} then takes in. */
  tmpPath(): string;
  /** Takes in a finished file made at a {@link MediaStore.tmpPath}, which is gone afterwards. */
  adopt(tmpPath: string): Promise<StoredMedia>;
  /**
   * Puts copies under names in `outDir`, replacing older files of those names one by one. The names are made safe for
   * every system, and kept apart from names that differ only in case. Answers the paths below `outDir`, with `/`, in the
   * order of `files`. `tag` is in the names of temporary files, by which the remains of a killed process are found.
   * Throws `MediaMissingError` and `MediaPathError`.
   */
  place(files: readonly NamedCopy[], outDir: string, tag: string): Promise<readonly string[]>;
  /** Whether a file that was placed is still there, whatever is in it by now. */
  isPlaced(file: string, outDir: string): Promise<boolean>;
  /** Reads the bytes and compares, once for as long as the file is not touched: `damaged` when somebody changed them. */
  verify(sha256: string): Promise<"intact" | "damaged" | "missing">;
  /** Shows, once in a process, that bytes can be written: asked before anything is paid. */
  checkWritable(): Promise<void>;
  readonly garbage: MediaGarbage;
}

/**
 * Bytes arrive before the event that names them: younger ones may belong to a run that is just about to say so,
 * milliseconds by the clock of the machine that stores them.
 */
export const GRACE_MS = HOUR_MS;

/** Files that a store reads, writes or sends at once, whoever asks: a plan may name thousands. */
export const FILES_AT_ONCE = 16;

export interface ListedMedia extends StoredMedia {
  /** Milliseconds since they were last put, touched or discarded. */
  readonly ageMs: number;
}

export interface DiscardedMedia extends ListedMedia {
  /** Tells one discarding of these bytes from another. */
  readonly id: string;
}

/**
 * Removing what no run names, beside others who write and remove. Bytes are first discarded: out of the way, and brought
 * back by anybody who asks for them. What is then still not named is purged.
 */
export interface MediaGarbage {
  /** Discarded bytes are not purged before this age, milliseconds. */
  readonly purgeAfterMs: number;
  /** Everything in the store, in no order. */
  list(): AsyncIterable<ListedMedia>;
  /** False, with nothing done, where they are not there or younger than {@link GRACE_MS} by now. */
  discard(sha256: string): Promise<boolean>;
  discarded(): AsyncIterable<DiscardedMedia>;
  /** Discarded bytes are in the store again; a discarding of them may be left. False when there are none. */
  restore(sha256: string): Promise<boolean>;
  purge(discarded: DiscardedMedia): Promise<void>;
  /** Removes what interrupted writers left in the store; answers how many. */
  removeLeftovers(options: { readonly dryRun: boolean }): Promise<number>;
}

const HASH = /^[0-9a-f]{64}$/;

export function isHash(text: string): boolean {
  return HASH.test(text);
}

/** @throws TypeError for anything else: it would become part of a path */
export function checkHash(sha256: string): string {
  if (!isHash(sha256)) throw new TypeError(`"${sha256}" is no SHA-256 in lower-case hex.`);
  return sha256;
}
