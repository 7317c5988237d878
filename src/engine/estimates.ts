import { hash } from "node:crypto";
import canonicalize from "canonicalize";
import { ApiError, type CallOptions, type Client } from "../api/index.ts";
import type { Json } from "../plan/plan.ts";
import { stopWaiting } from "./stop-waiting.ts";

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
  readonly #client: Client;
  readonly #now: () => number;
  readonly #keepMs: number;
  readonly #voices = new Map<string, Promise<string | null>>();
  readonly #known = new Map<string, Known>();

  constructor(client: Client, now: () => number, keepMs: number) {
    this.#client = client;
    this.#now = now;
    this.#keepMs = keepMs;
  }

  /** Some voice of a speech model, to price a speech whose own voice is still to be made; null when it lists none. */
  anyVoice(model: string): Promise<string | null> {
    const voice = this.#voices.get(model) ?? firstVoice(this.#client, model);
    this.#voices.set(model, voice);
    voice.catch(() => this.#voices.delete(model));
    return voice;
  }

  /**
   * `materialise` turns the input into what is really sent; it is only called when the service must be asked. The
   * signal ends the waiting of this caller alone: others may wait for the same estimate.
   */
  async ask(model: string, input: Json, materialise: () => Promise<Json>, options?: CallOptions): Promise<Estimated> {
    const key = hash("sha256", canonicalize([model, input]) ?? "");
    for (;;) {
      const known = this.#fresh(key) ?? this.#begin(key, model, materialise, options);
      try {
        return await stopWaiting(known.estimate, options?.signal);
      } catch (error) {
        if (options?.signal?.aborted === true || !known.isAbandoned()) throw error;
      }
    }
  }

  #fresh(key: string): Known | null {
    const known = this.#known.get(key);
    return known !== undefined && this.#now() - known.at < this.#keepMs ? known : null;
  }

  #begin(key: string, model: string, materialise: () => Promise<Json>, options: CallOptions = {}): Known {
    const { signal, ...shared } = options;
    const estimate = materialise().then((sent) =>
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

async function firstVoice(client: Client, model: string): Promise<string | null> {
  try {
    for await (const voice of client.voices(model, { limit: 1 })) return voice.id;
    return null;
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return null;
    throw error;
  }
}
