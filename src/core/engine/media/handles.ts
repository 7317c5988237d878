import PQueue from "p-queue";
import type { Client } from "../../api/index.ts";
import type { JournalStore } from "../../journal/store.ts";
import type { Json } from "../../plan/plan.ts";
import { plainSource } from "../../run/resolve.ts";
import type { MediaStore } from "./media-store.ts";

const UPLOADS_AT_ONCE = 16;
/** A handle that expires sooner than this is replaced before use. */
const MARGIN_MS = 5 * 60_000;

export interface HandleOptions {
  readonly renew?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly ensure?: ((sha256: string) => Promise<void>) | undefined;
  readonly onProgress?: ((sentBytes: number, totalBytes: number) => void) | undefined;
}

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

  /**
   * Identifies the account that owns the uploads. Includes the service's URL, because upload URLs contain the local
   * service's port, which can change.
   */
  get #account(): string {
    return `${this.#client.keyId}@${this.#client.baseUrl}`;
  }

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
    // Upload only media, because a service may have returned another kind of file as an output.
    await using held = await this.#media.hold([sha256]);
    const handle = await this.#client.upload({ path: held.path(sha256) }, { onProgress, kind: "media" });
    await this.#store.putHandle({
      sha256,
      account: this.#account,
      url: handle.url,
      contentType: handle.contentType ?? "application/octet-stream",
      expiresAt: Date.parse(handle.expiresAt ?? "") - this.#client.clockOffsetMs() || this.#now() + 10 * 60_000,
    });
    return handle.url;
  }
}

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
