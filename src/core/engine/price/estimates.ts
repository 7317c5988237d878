import { hash } from "node:crypto";
import { ApiError, type CallOptions, type Client } from "../../api/index.ts";
import { canonicalJson } from "../../plan/index.ts";
import type { Json } from "../../plan/plan.ts";
import { stopWaiting } from "../media/handles.ts";

export interface Estimated {
  /** Micro-dollars; null when the service cannot say before it has measured the inputs. */
  readonly costMicros: number | null;
  readonly reason: string | null;
}

export interface NamedVoice {
  readonly id: string;
  readonly name?: string | null;
}

/** A voice that is not among so many may be further on. */
export const MOST_VOICES = 1000;

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
  readonly #voices = new Map<string, Promise<readonly NamedVoice[]>>();
  readonly #known = new Map<string, Known>();

  constructor(client: Client, now: () => number, keepMs: number) {
    this.#client = client;
    this.#now = now;
    this.#keepMs = keepMs;
  }

  /** Some voice of a speech model, to price a speech whose own voice is still to be made; null when it lists none. */
  async anyVoice(model: string): Promise<string | null> {
    const [first] = await this.voices(model);
    return first?.id ?? null;
  }

  /** The voices of a model that the account may use; empty when the service lists none; {@link MOST_VOICES} at most. */
  voices(model: string): Promise<readonly NamedVoice[]> {
    const voices = this.#voices.get(model) ?? listVoices(this.#client, model);
    this.#voices.set(model, voices);
    voices.catch(() => this.#voices.delete(model));
    return voices;
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

async function listVoices(client: Client, model: string): Promise<readonly NamedVoice[]> {
  const found: NamedVoice[] = [];
  try {
    for await (const { id, name } of client.voices(model, { limit: 100 })) {
      found.push({ id, name });
      if (found.length === MOST_VOICES) break;
    }
    return found;
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return [];
    throw error;
  }
}
