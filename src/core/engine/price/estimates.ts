import { hash } from "node:crypto";
import type { CallOptions, Client } from "../../api/index.ts";
import { canonicalJson } from "../../plan/index.ts";
import type { Json } from "../../plan/plan.ts";
import { stopWaiting } from "../media/handles.ts";
import { VoiceBook } from "./voices.ts";

export interface Estimated {
  /** Price in micro-dollars. Null if the service must measure the inputs before it can quote one. */
  readonly costMicros: number | null;
  readonly reason: string | null;
}

interface Known {
  readonly at: number;
  readonly estimate: Promise<Estimated>;
  /** True if the caller that started the request has stopped waiting. Other callers should then ignore a failure. */
  isAbandoned(): boolean;
}

/** Caches estimates by request. Uploads are compared by content, so a new upload handle needs no new estimate. */
export class EstimateCache {
  readonly voices: VoiceBook;
  readonly #client: Client;
  readonly #now: () => number;
  readonly #keepMs: number;
  readonly #known = new Map<string, Known>();

  constructor(client: Client, now: () => number, keepMs: number) {
    this.voices = new VoiceBook(client, now, keepMs);
    this.#client = client;
    this.#now = now;
    this.#keepMs = keepMs;
  }

  /**
   * Returns the estimate for a request. Aborting the signal stops only this caller's wait; other callers may share the
   * request.
   */
  async ask(
    model: string,
    input: Json,
    resolveUploads: () => Promise<Json>,
    options?: CallOptions,
  ): Promise<Estimated> {
    const key = hash("sha256", canonicalJson([model, input]) ?? "");
    for (;;) {
      const known = this.#fresh(key) ?? this.#begin(key, model, resolveUploads, options);
      try {
        return await stopWaiting(known.estimate, options?.signal);
      } catch (error) {
        if (options?.signal?.aborted === true || !known.isAbandoned()) throw error;
      }
    }
  }

  forgetOlderThan(ms: number): void {
    const before = this.#now() - ms;
    for (const [key, { at }] of this.#known) if (at < before) this.#known.delete(key);
  }

  #fresh(key: string): Known | null {
    const known = this.#known.get(key);
    return known !== undefined && this.#now() - known.at < this.#keepMs ? known : null;
  }

  #begin(key: string, model: string, resolveUploads: () => Promise<Json>, options: CallOptions = {}): Known {
    const { signal, ...shared } = options;
    const estimate = resolveUploads().then((sent) =>
      this.#client.estimate({ model, input: sent as Readonly<Record<string, unknown>> }, shared),
    );
    const known: Known = { at: this.#now(), estimate, isAbandoned: () => signal?.aborted === true };
    this.#known.set(key, known);
    estimate.catch(() => {
      if (this.#known.get(key) === known) this.#known.delete(key);
    });
    return known;
  }
}
