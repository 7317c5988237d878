import PQueue from "p-queue";
import type { Client } from "../../api/index.ts";
import type { JournalStore } from "../../journal/store.ts";
import type { Json } from "../../plan/plan.ts";
import { plainSource } from "../../run/foreign-names.ts";
import type { MediaStore } from "./media-store.ts";

/** Each has a file and a connection open. */
const UPLOADS_AT_ONCE = 16;
/** A handle this close to its end is renewed rather than sent. */
const MARGIN_MS = 5 * 60_000;

export interface HandleOptions {
  /** Distrusts handles that are kept. */
  readonly renew?: boolean | undefined;
  /** Ends the waiting of this caller; an upload that was begun continues, for others may wait for it. */
  readonly signal?: AbortSignal | undefined;
  /** Sees to it that the bytes are what they should be, before they are sent. */
  readonly ensure?: ((sha256: string) => Promise<void>) | undefined;
  /** Called with how many bytes of an upload are sent, and how many there are. */
  readonly onProgress?: ((sentBytes: number, totalBytes: number) => void) | undefined;
}

/**
 * Turns uploads by content hash into the service's presigned handles. Handles live in a table that expires, never in
 * events; the bytes are in the media store, so that a handle can always be renewed.
 */
export class UploadHandles {
  readonly #client: Client;
  readonly #store: JournalStore;
  readonly #media: MediaStore;
  readonly #now: () => number;
  readonly #pending = new Map<string, Promise<string>>();
  readonly #queue = new PQueue({ concurrency: UPLOADS_AT_ONCE });

  constructor(deps: {
    readonly client: Client;
    readonly store: JournalStore;
    readonly media: MediaStore;
    readonly now: () => number;
  }) {
    this.#client = deps.client;
    this.#store = deps.store;
    this.#media = deps.media;
    this.#now = deps.now;
  }

  /** The address is part of it: a local service may come back on another port. */
  get #account(): string {
    return `${this.#client.keyId}@${this.#client.baseUrl}`;
  }

  /** A resolved input with each `{source: "upload", sha256}` replaced by a live handle; `renew` distrusts kept ones. */
  async resolveUploads(input: Json, options: HandleOptions = {}): Promise<Json> {
    if (Array.isArray(input)) return Promise.all(input.map((item) => this.resolveUploads(item, options)));
    if (typeof input !== "object" || input === null) return input;
    const record = input as { readonly [key: string]: Json };
    if (record.source === "upload" && typeof record.sha256 === "string") {
      return { source: "url", url: await this.url(record.sha256, options) };
    }
    const entries = Object.entries(record).map(async ([key, value]) => [
      key,
      await this.resolveUploads(plainSource(key, value), options),
    ]);
    return Object.fromEntries(await Promise.all(entries));
  }

  /** The handle's URL, uploading the bytes when there is none that will live long enough. */
  async url(sha256: string, options: HandleOptions = {}): Promise<string> {
    if (options.renew !== true) {
      const stored = await this.#store.handle(sha256, this.#account);
      if (stored !== null && stored.expiresAt - MARGIN_MS > this.#now()) return stored.url;
    }
    return stopWaiting(this.#pending.get(sha256) ?? this.#begin(sha256, options), options.signal);
  }

  #begin(sha256: string, options: HandleOptions): Promise<string> {
    const pending = this.#queue.add(() => this.#upload(sha256, options)).finally(() => this.#pending.delete(sha256));
    this.#pending.set(sha256, pending);
    pending.catch(() => {});
    return pending;
  }

  async #upload(sha256: string, { onProgress, ensure }: HandleOptions): Promise<string> {
    await ensure?.(sha256);
    // Whatever a service had us fetch as its output: nothing but media goes up.
    await using held = await this.#media.hold([sha256]);
    const handle = await this.#client.upload({ path: held.path(sha256) }, { onProgress, kind: "media" });
    await this.#store.putHandle({
      sha256,
      account: this.#account,
      url: handle.url,
      contentType: handle.contentType ?? "application/octet-stream",
      // Stated by the service's clock, and looked at by ours.
      expiresAt: Date.parse(handle.expiresAt ?? "") - this.#client.clockOffsetMs() || this.#now() + 10 * 60_000,
    });
    return handle.url;
  }
}

/**
 * What shared work gives, as long as this caller wants it: rejects with the signal's reason once that is aborted, while
 * the work continues for others.
 */
export async function stopWaiting<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  let stop: () => void = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
