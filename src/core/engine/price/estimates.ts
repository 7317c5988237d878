import { hash } from "node:crypto";
import type { CallOptions, Client } from "../../api/index.ts";
import { canonicalJson } from "../../plan/index.ts";
import type { Json } from "../../plan/plan.ts";
import { stopWaiting } from "../media/handles.ts";
import { VoiceBook } from "./voices.ts";

export interface Estimated {
  /** Micro-dollars; null when the service cannot say before it has measured the inputs. */
  readonly costMicros: number | null;
  readonly reason: string | null;
}

interface Known {
  readonly at: number;
  readonly estimate: Promise<Estimated>;
  /** Whether who began it wants it no more: then its failure says nothing to others. */
  isAbandoned(): boolean;
}

/** Estimates by what is asked for: uploads count by content, so that a renewed handle asks nothing new. */
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
   * `resolveUploads` turns the input into what is really sent; it is only called when the service must be asked. The
   * signal ends the waiting of this caller alone: others may wait for the same estimate.
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

  /** Prices move: what was asked for longer ago than this is asked for again. */
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
