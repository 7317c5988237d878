import { hash } from "node:crypto";
import canonicalize from "canonicalize";
import { ApiError, type CallOptions, type Client } from "../api/index.ts";
import type { Json } from "../plan/plan.ts";

export interface Estimated {
  /** Micro-dollars; null when the service cannot say before it has measured the inputs. */
  readonly costMicros: number | null;
  readonly reason: string | null;
}

/** Estimates by what is asked for: uploads count by content, so that a renewed handle asks nothing new. */
export class EstimateCache {
  readonly #client: Client;
  readonly #now: () => number;
  readonly #keepMs: number;
  readonly #voices = new Map<string, Promise<string | null>>();
  readonly #known = new Map<string, { readonly at: number; readonly estimate: Promise<Estimated> }>();

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

  /** `materialise` turns the input into what is really sent; it is only called when the service must be asked. */
  ask(model: string, input: Json, materialise: () => Promise<Json>, options?: CallOptions): Promise<Estimated> {
    const key = hash("sha256", canonicalize([model, input]) ?? "");
    const kept = this.#known.get(key);
    if (kept !== undefined && this.#now() - kept.at < this.#keepMs) return kept.estimate;
    const estimate = materialise().then((sent) =>
      this.#client.estimate({ model, input: sent as Readonly<Record<string, unknown>> }, options),
    );
    this.#known.set(key, { at: this.#now(), estimate });
    estimate.catch(() => this.#known.delete(key));
    return estimate;
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
