import type { Client } from "../api/index.ts";
import { type Catalog, fetchCatalog } from "../catalog/index.ts";
import type { Pipeline } from "../define/index.ts";
import type { RunState } from "../journal/state.ts";
import { type Draft, draft, filesOf, makePlan, modelsOf, type PlanOutcome } from "../plan/index.ts";
import type { Plan, Problem } from "../plan/plan.ts";
import { EstimateCache } from "./estimates.ts";
import type { UploadHandles } from "./handles.ts";
import { measureFiles } from "./measure-files.ts";
import type { MediaStore } from "./media-store.ts";
import { pastDurations } from "./past-durations.ts";
import { pricePlan, type Quote } from "./quote.ts";

/** Catalog entries and estimates are believed for so long, milliseconds. */
const CACHE_MS = 5 * 60_000;

export type Planned = Extract<PlanOutcome, { readonly ok: true }> & { readonly draft: Draft };

export interface PlannerParts {
  readonly client: Client;
  readonly media: MediaStore;
  readonly handles: UploadHandles;
  readonly now: () => number;
  /** The newest runs, which expected durations are learnt from. */
  readonly recent: () => Promise<readonly RunState[]>;
}

/** Turns pipelines into plans and plans into quotes. Reads the catalog, asks for estimates, spends nothing. */
export class Planner {
  readonly estimates: EstimateCache;
  readonly #parts: PlannerParts;
  readonly #models = new Map<string, { readonly at: number; readonly answer: ReturnType<Client["model"]> }>();

  constructor(parts: PlannerParts) {
    this.#parts = parts;
    this.estimates = new EstimateCache(parts.client, parts.now, CACHE_MS);
  }

  async plan(
    pipeline: Pipeline,
    input: unknown,
  ): Promise<Planned | { readonly ok: false; readonly problems: readonly Problem[] }> {
    const drafted = draft(pipeline, input);
    if (drafted.draft === null) return { ok: false, problems: drafted.problems };
    const made = await this.planDraft(drafted.draft);
    const problems = [...drafted.problems, ...(made.ok ? [] : made.problems)];
    return made.ok && problems.length === 0 ? { ...made, draft: drafted.draft } : { ok: false, problems };
  }

  async planDraft(drafted: Draft): Promise<PlanOutcome> {
    const files = await measureFiles(filesOf(drafted));
    const catalog = await this.#catalog(modelsOf(drafted));
    return makePlan(drafted, { catalog, files });
  }

  async quote(pipeline: Pipeline, input: unknown, maxUnquotedMicros: number | null): Promise<Quote> {
    const made = await this.plan(pipeline, input);
    if (made.ok) return this.price(made.plan, maxUnquotedMicros);
    return {
      ok: false,
      problems: made.problems,
      plan: null,
      prices: [],
      totalMicros: { min: 0, max: null },
      criticalPath: [],
      forecastMs: null,
    };
  }

  async price(plan: Plan, maxUnquotedMicros: number | null): Promise<Quote> {
    const { handles, media, recent } = this.#parts;
    const past = pastDurations(await recent());
    return pricePlan(plan, { handles, estimates: this.estimates, media, past, maxUnquotedMicros });
  }

  /** Read once for a quote and the run that follows it; the service has the last word anyway. */
  #catalog(ids: readonly string[]): Promise<Catalog> {
    const { client, now } = this.#parts;
    const model = (id: string) => {
      const kept = this.#models.get(id);
      if (kept !== undefined && now() - kept.at < CACHE_MS) return kept.answer;
      const answer = client.model(id);
      this.#models.set(id, { at: now(), answer });
      answer.catch(() => this.#models.delete(id));
      return answer;
    };
    return fetchCatalog({ models: () => client.models(), model }, ids);
  }
}
