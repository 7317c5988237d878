import { hash } from "node:crypto";
import { ApiError, type CallOptions, type Client } from "../../api/index.ts";
import { suggest } from "../../kit/lookup.ts";
import {
  canonicalJson,
  type Draft,
  type NamedVoice,
  traitsOf,
  type VoicesByName,
  voiceKey,
  voicesNamedIn,
} from "../../plan/index.ts";
import type { Json, PlanStep, Problem, SubmittingStep } from "../../plan/plan.ts";
import { stopWaiting } from "../media/handles.ts";
import type { StepPrice } from "./totals.ts";

export interface Estimated {
  /** Price in micro-dollars. Null if the service must measure the inputs before it can quote a price. */
  readonly costMicros: number | null;
  readonly reason: string | null;
}

interface Known {
  readonly at: number;
  readonly estimate: Promise<Estimated>;
  /**
   * True if the caller that started the request has stopped waiting. If the request then fails, other callers start a
   * new one.
   */
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

const MOST_VOICES = 1000;
const LISTED = 8;
const FIELD = "input.voice_id";

export class VoiceBook {
  readonly #client: Client;
  readonly #asked: KeptAnswers<readonly NamedVoice[]>;

  constructor(client: Client, now: () => number, keepMs: number) {
    this.#client = client;
    this.#asked = new KeptAnswers(now, keepMs);
  }

  /**
   * Returns any voice of the model, to price speech whose voice does not exist yet. Null if the model has no voices.
   */
  async any(model: string): Promise<string | null> {
    const [first] = await this.#listed(model);
    return first?.id ?? null;
  }

  async namedIn(draft: Draft): Promise<VoicesByName> {
    const looked = voicesNamedIn(draft).map(async ({ model, name }) => {
      return [voiceKey(model, name), await this.#named(model, name)] as const;
    });
    return new Map(await Promise.all(looked));
  }

  /**
   * Reports unknown voices in inputs. Skips inputs for which the service has quoted a price, because it may accept
   * voices that it does not list.
   */
  async problems(
    steps: readonly PlanStep[],
    prices: readonly StepPrice[],
    refused: readonly Problem[],
  ): Promise<readonly Problem[]> {
    const reported = new Set(refused.filter(({ field }) => field !== FIELD).map(({ step }) => step));
    const open = steps.flatMap((step, index) => {
      const { submits } = traitsOf(step);
      const id = submits === null ? null : voiceOf(submits);
      if (submits === null || id === null || reported.has(step.path) || isAccepted(prices[index]!)) return [];
      return [{ step: step.path, model: submits.model, id }];
    });
    const problems = open.map(async ({ step, model, id }): Promise<readonly Problem[]> => {
      const voices = await this.#listed(model);
      if (voices.length === MOST_VOICES || voices.some((voice) => voice.id === id)) return [];
      const found = await this.#found(model, id);
      const all = [...new Map([...found, ...voices].map((voice) => [voice.id, voice])).values()];
      if (all.length === 0) return [];
      return [{ code: "unknown-voice", step, field: FIELD, ...unknownVoice(id, model, all) }];
    });
    return (await Promise.all(problems)).flat();
  }

  async #named(model: string, name: string): Promise<readonly NamedVoice[]> {
    const found = await this.#found(model, name);
    const voices = found.length > 0 ? found : await this.#listed(model);
    if (voices.some(({ id }) => id === name)) return [];
    return voices.filter((voice) => voice.name?.trim().toLowerCase() === name.trim().toLowerCase());
  }

  #listed(model: string): Promise<readonly NamedVoice[]> {
    return this.#once(model, async () => {
      const found: NamedVoice[] = [];
      for await (const { id, name, labels } of this.#client.voices(model, { limit: 100 })) {
        found.push({ id, name, labels });
        if (found.length === MOST_VOICES) break;
      }
      return found;
    });
  }

  #found(model: string, text: string): Promise<readonly NamedVoice[]> {
    const q = text.trim().slice(0, 200);
    return this.#once(voiceKey(model, q), async () =>
      q === "" ? [] : this.#client.searchVoices(model, { q, limit: 50 }),
    );
  }

  #once(key: string, ask: () => Promise<readonly NamedVoice[]>): Promise<readonly NamedVoice[]> {
    return this.#asked.once(key, () =>
      ask().catch((error: unknown) => {
        if (error instanceof ApiError && error.status < 500) return [];
        throw error;
      }),
    );
  }
}

function isAccepted({ basis }: StepPrice): boolean {
  return basis === "quoted" || basis === "reused" || basis === "free";
}

function voiceOf({ input }: SubmittingStep): string | null {
  const id = (input as { readonly voice_id?: unknown } | null)?.voice_id;
  return typeof id === "string" ? id : null;
}

function unknownVoice(id: string, model: string, voices: readonly NamedVoice[]) {
  const named = voices.flatMap((voice) => (voice.name === null ? [] : [[voice.name, voice] as const]));
  const byName = new Map([...named, ...voices.map((voice) => [voice.id, voice] as const)]);
  const similar = [...new Set(suggest(id, byName.keys()).map((name) => byName.get(name)!))];
  const listed = voices.slice(0, LISTED).map(textOf);
  const more = voices.length > LISTED ? `, … and ${voices.length - LISTED} more` : "";
  const meant = similar.length === 0 ? "" : `did you mean ${similar.map(textOf).join(" or ")}? `;
  const message = `${model} has no voice ${JSON.stringify(id)}; ${meant}available voices: ${listed.join(", ")}${more}`;
  const allowed = (similar.length > 0 ? similar : voices.slice(0, LISTED)).map((voice) => voice.id);
  return { message, allowed };
}

function textOf({ id, name }: NamedVoice): string {
  return name === null || name === id ? id : `${id} (${name})`;
}

export class KeptAnswers<T> {
  readonly #kept = new Map<string, { readonly at: number; readonly answer: Promise<T> }>();
  readonly #now: () => number;
  readonly #keepMs: number;

  constructor(now: () => number, keepMs: number) {
    this.#now = now;
    this.#keepMs = keepMs;
  }

  once(key: string, ask: () => Promise<T>): Promise<T> {
    const kept = this.#kept.get(key);
    if (kept !== undefined && this.#now() - kept.at < this.#keepMs) return kept.answer;
    const answer = ask();
    this.#kept.set(key, { at: this.#now(), answer });
    answer.catch(() => this.#kept.delete(key));
    return answer;
  }
}
