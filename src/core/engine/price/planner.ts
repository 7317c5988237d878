import { hash } from "node:crypto";
import { resolve } from "node:path";
import type { Client } from "../../api/index.ts";
import { type Catalog, type ChatLook, lookForChat, readCatalog, withFamilies } from "../../catalog/index.ts";
import { draft, type Pipeline, profileNamed } from "../../define/index.ts";
import type { Families } from "../../families/index.ts";
import type { JournalStore } from "../../journal/store.ts";
import { outputsLiveMs } from "../../kit/deployments.ts";
import { LongWork } from "../../kit/long-work.ts";
import { ownVersion } from "../../kit/own-version.ts";
import {
  type AppliedProfile,
  chatModelsOf,
  type Draft,
  filesOf,
  type JobLimits,
  modelsOf,
  type Overlay,
  type PlanContext,
  type PlanOutcome,
  planStepwise,
  profileModels,
  profileProblems,
  traitsOf,
  withOverlay,
} from "../../plan/index.ts";
import {
  type ExpandingStep,
  type FileFacts,
  type Plan,
  type PlanStep,
  type Problem,
  stepNamed,
} from "../../plan/plan.ts";
import { isCacheable } from "../../run/request-identity.ts";
import type { UploadHandles } from "../media/handles.ts";
import { measureFiles } from "../media/measure-files.ts";
import type { MediaStore } from "../media/media-store.ts";
import { type InputDoor, limitsOf, type PlanOptions } from "../options/options.ts";
import { previewReuse, type ResultCache, type ReusePreview, whyAnew } from "../reuse/result-cache.ts";
import { EstimateCache, KeptAnswers } from "./estimates.ts";
import {
  type Expansion,
  expandPlan,
  missingRequirements,
  type Surroundings,
  settleDoubts,
  unreadTables,
  withoutModerated,
} from "./expansion.ts";
import { type EarlierMs, type ExpectedDurations, foreseeMedia } from "./expected.ts";
import { NO_OFFER, newRun, Offers } from "./offers.ts";
import {
  type PlaceholderInput,
  type PlaceholderSources,
  placeholderInput,
  type Requested,
} from "./placeholder-input.ts";
import { pricePlan, type Quote, unplanned } from "./quote.ts";
import { type PlanWarning, type StepPrice, textsTwice, unlistedChats } from "./totals.ts";

const EXPLAINED = 100;
const CACHE_MS = 5 * 60_000;

export type Planned = Extract<PlanOutcome, { readonly ok: true }> & {
  readonly draft: Draft;
  readonly basis: string;
  readonly profile: AppliedProfile | null;
  readonly warnings: readonly PlanWarning[];
};

type Outcome = PlanOutcome & { readonly warnings: readonly PlanWarning[] };

export interface PlannerParts {
  readonly client: Client;
  readonly service: "hosted" | "local";
  readonly missingKey: Error | null;
  readonly media: MediaStore;
  readonly handles: UploadHandles;
  readonly store: JournalStore;
  readonly account: string;
  readonly now: () => number;
  readonly cache: ResultCache;
  readonly families: Families;
  readonly durations: ExpectedDurations;
  readonly door: InputDoor;
}

export interface PricingOptions {
  readonly maxUnquotedMicros: number | null;
  readonly reuse?: boolean | undefined;
  readonly again?: ReadonlySet<string> | undefined;
  readonly earlierMs?: EarlierMs | undefined;
  readonly limits?: JobLimits | undefined;
  readonly isForecast?: boolean | undefined;
}

type PlanFromOptions = Pick<PlanOptions, "filesFrom"> &
  Pick<Overlay, "edits" | "texts"> & { readonly stored?: readonly FileFacts[] };

export class Planner {
  readonly estimates: EstimateCache;
  readonly offers: Offers;
  readonly #parts: PlannerParts;
  readonly #models: KeptAnswers<Awaited<ReturnType<Client["model"]>>>;
  readonly #chats: KeptAnswers<ChatLook>;

  constructor(parts: PlannerParts) {
    this.#parts = parts;
    this.#models = new KeptAnswers(parts.now, CACHE_MS);
    this.#chats = new KeptAnswers(parts.now, CACHE_MS);
    this.estimates = new EstimateCache(parts.client, parts.now, CACHE_MS);
    this.offers = new Offers(parts);
  }

  async plan(
    pipeline: Pipeline,
    input: unknown,
    { profile: name, filesFrom }: PlanOptions = {},
  ): Promise<Planned | { readonly ok: false; readonly problems: readonly Problem[] }> {
    const drafted = draft(pipeline, input);
    const chosen = name === undefined ? { profile: null } : this.#profile(pipeline, name);
    const wrong = "problem" in chosen ? [chosen.problem] : [];
    if (drafted.draft === null) return { ok: false, problems: [...wrong, ...drafted.problems] };
    const profile = "problem" in chosen ? null : chosen.profile;
    const { basis, make } = await this.planFrom(drafted.draft, profile, { filesFrom });
    const produced = await make();
    const missing = await missingRequirements(drafted.draft.functions);
    const foreseen = produced.ok ? await foreseeMedia(produced.plan, drafted.draft.functions) : produced;
    const problems = [...wrong, ...drafted.problems, ...foreseen.problems, ...missing];
    if (!produced.ok || problems.length > 0) return { ok: false, problems };
    const warnings = [...produced.warnings, ...foreseen.warnings, ...textsTwice(drafted.draft.steps)];
    return { ...produced, warnings, draft: drafted.draft, basis: basis(), profile };
  }

  async planFrom(
    drafted: Draft,
    profile: AppliedProfile | null,
    { stored = [], filesFrom, ...own }: PlanFromOptions = {},
  ): Promise<{ readonly basis: () => string; readonly make: () => Promise<Outcome> }> {
    const overlay = { profile, ...own };
    const requested = withOverlay(drafted, overlay);
    const files = await measureFiles(filesOf(requested), this.#parts.media, this.#door(filesFrom), stored);
    const named = profile === null ? [] : profileModels(profile);
    const chats = chatModelsOf(requested);
    const known = await this.#catalog([...new Set([...modelsOf(requested), ...named])], chats);
    // A hosted service may not list all chat models, so a missing model may still exist there.
    const isProof = this.#parts.service === "local";
    const catalog = isProof ? known : { ...known, lacksChat: () => false };
    const doubtful = isProof ? [] : unlistedChats(chats, known);
    const voices = await this.estimates.voices.namedIn(requested);
    const make = async (): Promise<Outcome> => {
      const work = new LongWork();
      await work.pause(requested.steps.length);
      const produced = await withoutModerated(
        (out) => work.finish(planStepwise(requested, { catalog, files, voices, out })),
        (made) => (made.ok ? { plan: made.plan, steps: made.plan.steps } : null),
        (plan, steps) => this.price(plan, { maxUnquotedMicros: null, isForecast: false }, steps),
      );
      await work.pause(requested.steps.length);
      const wrong = profile === null ? [] : profileProblems(drafted, profile, catalog);
      if (wrong.length > 0)
        return { ok: false, problems: [...wrong, ...(produced.ok ? [] : produced.problems)], warnings: [] };
      const settled = await settleDoubts(
        produced,
        ({ plan }) => plan.steps,
        ({ plan }, steps) => this.price(plan, { maxUnquotedMicros: null, isForecast: false }, steps),
      );
      return {
        ...settled,
        warnings: [...unreadTables(modelsOf(requested), catalog), ...doubtful, ...settled.warnings],
      };
    };
    return { basis: () => planBasis(drafted, overlay, { catalog, files, voices }), make };
  }

  async quote(
    pipeline: Pipeline,
    input: unknown,
    { profile, filesFrom, isOffered, ...pricing }: PricingOptions & PlanOptions & { readonly isOffered: boolean },
  ): Promise<Quote> {
    const produced = await this.plan(pipeline, input, { profile, filesFrom });
    if (produced.ok) {
      const quote = await this.price(produced.plan, pricing);
      const isPriced = quote.ok && this.#parts.missingKey === null && isOffered;
      const offer = isPriced ? await this.offers.issue(newRun(produced, quote, pricing.maxUnquotedMicros)) : NO_OFFER;
      return { ...quote, ...offer, warnings: [...produced.warnings, ...quote.warnings] };
    }
    return unplanned(produced.problems);
  }

  async price(plan: Plan, options: PricingOptions, only?: readonly PlanStep[]): Promise<Quote> {
    const { client, handles, media, durations, missingKey } = this.#parts;
    const { maxUnquotedMicros, reuse = false } = options;
    await durations.load(plan.steps);
    const reusePreview = reuse ? await previewReuse(plan, this.#parts.cache, options.again) : undefined;
    const { limits = limitsOf(undefined), isForecast = true } = options;
    const catalog = await this.#catalogOf(only ?? plan.steps);
    const prices = {
      catalog,
      handles,
      estimates: this.estimates,
      media,
      durations,
      maxUnquotedMicros,
      earlierMs: options.earlierMs,
      reusePreview,
      missingKey,
      outputsLiveMs: outputsLiveMs(client.baseUrl),
    };
    const quote = await pricePlan(plan, { ...prices, limits, isForecast }, only);
    return reusePreview === undefined ? quote : { ...quote, prices: this.#explained(quote.prices, plan, reusePreview) };
  }

  async placeholders(
    step: Requested,
    { plan, resolved }: { readonly plan: Plan } & Pick<PlaceholderSources, "resolved">,
  ): Promise<PlaceholderInput> {
    const catalog = await this.#catalog([step.model]);
    const stepAt = (path: string) => stepNamed(plan, path);
    return placeholderInput(step, {
      step: stepAt,
      catalog,
      resolved,
      estimates: this.estimates,
      media: this.#parts.media,
    });
  }

  expand(
    step: ExpandingStep,
    drafted: Draft,
    { plan, overlay, filesFrom, maxUnquotedMicros }: Surroundings,
  ): Promise<Expansion> {
    const catalog = (models: readonly string[]) => this.#catalog(models);
    const price = (whole: Plan, only: readonly PlanStep[]) =>
      this.price(whole, { maxUnquotedMicros, isForecast: false }, only);
    const { voices } = this.estimates;
    const door = this.#door(filesFrom);
    return expandPlan(step, drafted, { plan, overlay, media: this.#parts.media, door, voices, catalog, price });
  }

  #door(filesFrom: readonly string[] | undefined): InputDoor {
    const { client, door } = this.#parts;
    const files = filesFrom === undefined ? {} : { filesFrom: filesFrom.map((path) => resolve(path)) };
    return { ...door, ...files, inside: [...door.inside, new URL(client.baseUrl).origin] };
  }

  #explained(prices: readonly StepPrice[], plan: Plan, reusePreview: ReusePreview): readonly StepPrice[] {
    let remaining = EXPLAINED;
    return prices.map((price) => {
      const step = stepNamed(plan, price.step);
      const isCreated = step !== undefined && isCacheable(step) && price.basis !== "reused" && price.basis !== "free";
      if (!isCreated || remaining-- <= 0) return price;
      return { ...price, anew: whyAnew(step, reusePreview) };
    });
  }

  #profile(pipeline: Pipeline, name: string) {
    const isLocal = pipeline.profiles?.[name]?.service === "local";
    if (!isLocal || this.#parts.service === "local") return profileNamed(pipeline.profiles, name);
    const message = `profile ${name} runs only on the local service; use local: true or --local`;
    return { problem: { code: "profile-service", step: null, field: "profile", message } };
  }

  #catalogOf(steps: readonly PlanStep[]): Promise<Catalog> {
    const models = steps.flatMap((step) => traitsOf(step).submits?.model ?? []);
    return this.#catalog([...new Set(models)]);
  }

  /**
   * Returns the catalog, which may be a recent copy. An outdated copy does no harm, because the service checks each
   * input.
   */
  async #catalog(ids: readonly string[], chats: readonly string[] = []): Promise<Catalog> {
    const { client, families } = this.#parts;
    const model = (id: string) => this.#models.once(id, () => client.model(id));
    const asked = { models: () => client.models(), model, modelJobs: (id: string) => client.modelJobs(id) };
    const looks = chats.map((id) => this.#chats.once(id, () => lookForChat(asked, id)));
    return withFamilies(await readCatalog(asked, ids, looks), families);
  }
}

function planBasis(drafted: Draft, overlay: Overlay, { catalog, files, voices }: PlanContext): string {
  const { pipeline, steps, returns, groups, onFailure } = drafted;
  // Leave out the bytes, because `files` contains their hashes.
  const said = steps.map((step) => ("bytes" in step && step.bytes !== null ? { ...step, bytes: [] } : step));
  const models = catalog.models();
  const families = models.map(({ id }) => catalog.family(id));
  const known = [catalog.ids(), models, families, [...files], [...(voices ?? [])]];
  const program = ownVersion();
  return `b1_${hash("sha256", JSON.stringify([program, pipeline, said, returns, groups, onFailure, overlay.profile, overlay.edits, overlay.texts, known]))}`;
}
