import { type Clock, systemClock } from "../../api/index.ts";
import type { Pipeline } from "../../define/index.ts";
import type { Families } from "../../families/index.ts";
import { RunRepository } from "../../journal/run-repository.ts";
import type { RunState } from "../../journal/state.ts";
import type { JournalStore } from "../../journal/store.ts";
import type { PlanStep } from "../../plan/plan.ts";
import { type Comparison, compareWithRun, notCompared, summaryOf } from "../change/compare.ts";
import { type Drift, type DriftOptions, madeAgain, type RerunQuote } from "../change/drift.ts";
import { type Redo, redoOf } from "../change/redo.ts";
import { driftQuote, type Quoted, type RerunQuoteOptions, rerunQuote } from "../change/revision.ts";
import type { Offer } from "../errors.ts";
import { UploadHandles } from "../media/handles.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { SpendingLimits } from "../money/spending.ts";
import { GlancedBalance } from "../money/wallet.ts";
import type { openNotifications } from "../notify/notifications.ts";
import {
  type CompareOptions,
  checkLimits,
  inputDoor,
  limitsOf,
  type OpenOptions,
  type PlanOptions,
  type QuoteOptions,
  usdOption,
} from "../options/options.ts";
import { ExpectedDurations } from "../price/expected.ts";
import { NO_OFFER } from "../price/offers.ts";
import { Planner } from "../price/planner.ts";
import type { Quote } from "../price/quote.ts";
import { ResultCache } from "../reuse/result-cache.ts";
import type { Service } from "../service/embedded-service.ts";
import type { Showrunner } from "./showrunner.ts";
import { StoredRuns } from "./stored-runs.ts";

export interface Parts {
  readonly options: OpenOptions;
  readonly limits: SpendingLimits;
  readonly store: JournalStore;
  readonly ownsStore: boolean;
  readonly media: MediaStore;
  readonly service: Service;
  readonly families: Families;
  readonly notifications: ReturnType<typeof openNotifications>;
}

export abstract class PlannedRuns extends StoredRuns {
  readonly service: Showrunner["service"];
  protected readonly parts: Parts;
  protected readonly clock: Clock;
  protected readonly handles: UploadHandles;
  protected readonly durations: ExpectedDurations;
  protected readonly planner: Planner;
  protected readonly cache: ResultCache;
  protected readonly balanceGlance: GlancedBalance;

  constructor(parts: Parts) {
    const { store, media, service, families, options } = parts;
    const { client, kind, origin, missingKey = null } = service;
    const clock = options.clock ?? systemClock;
    const repository = new RunRepository(store, { origin, keyId: client.keyId });
    super({ client, store, repository, media, now: () => clock.now() });
    const { account, now } = this;
    this.parts = parts;
    this.balanceGlance = new GlancedBalance(client, now);
    this.clock = clock;
    this.service = {
      kind,
      get baseUrl() {
        return client.baseUrl;
      },
      missingKey,
    };
    this.handles = new UploadHandles({ client, store, media, now });
    this.cache = new ResultCache({ client, store, media, account, repository, now });
    this.durations = new ExpectedDurations({ store, account, families, now });
    this.planner = new Planner({
      client,
      media,
      store,
      account,
      durations: this.durations,
      service: kind,
      missingKey,
      cache: this.cache,
      handles: this.handles,
      now,
      families,
      door: inputDoor(options),
    });
  }

  async plan(pipeline: Pipeline, input: unknown, options: PlanOptions = {}) {
    const produced = await this.planner.plan(pipeline, input, options);
    return produced.ok ? { ok: true as const, plan: produced.plan } : produced;
  }

  async quote(pipeline: Pipeline, input: unknown, options: QuoteOptions = {}): Promise<Quote> {
    const { maxUnquoted, profile, filesFrom, reuse, concurrency, keep: isOffered = true } = options;
    const maxUnquotedMicros = usdOption("maxUnquoted", maxUnquoted);
    const limits = limitsOf(concurrency);
    const quote = await this.planner.quote(pipeline, input, {
      maxUnquotedMicros,
      profile,
      filesFrom,
      reuse,
      limits,
      isOffered,
    });
    if (quote.plan !== null) checkLimits(limits, quote.plan);
    const balanceMicros =
      quote.ok && this.service.missingKey === null ? await this.balanceGlance.micros(quote.totalMicros.min) : null;
    return { ...quote, balanceMicros, budgetMicros: usdOption("budget", options.budget) };
  }

  async compare(pipeline: Pipeline, input: unknown, options: CompareOptions): Promise<Comparison> {
    const { against, profile, filesFrom, reuse } = options;
    const maxUnquotedMicros = usdOption("maxUnquoted", options.maxUnquoted);
    const run = await this.loadOurs(against);
    const produced = await this.planner.plan(pipeline, input, { profile, filesFrom });
    if (!produced.ok) return notCompared(against, produced.problems);
    const held = compareWithRun(produced.plan, run);
    const stale = new Set(held.stale.map(({ path }) => path));
    const only = produced.plan.steps.filter(({ path }) => stale.has(path));
    const quote = await this.planner.price(produced.plan, { maxUnquotedMicros, reuse }, only);
    const { ok, problems, plan, prices, totalMicros } = quote;
    const summary = summaryOf(held, produced.plan, quote);
    return { ...held, ok, problems, against, plan, prices, totalMicros, summary };
  }

  expectedMs(step: PlanStep): number | null {
    return this.durations.knownMs(step);
  }

  async drift(runId: string, pipeline: Pipeline, options: DriftOptions = {}): Promise<Drift & Offer> {
    const { state } = await this.foreseen(runId);
    if (options.anyAccount !== true) this.repository.checkAccount(state);
    const quoted = await driftQuote(state, { ...options, pipeline }, this.planner);
    return { ...quoted.scope, ...(await this.#offer(state, quoted)) };
  }

  async redo(runId: string, step: string, note: string, pipeline?: Pipeline): Promise<Redo> {
    return redoOf(await this.foreseenOurs(runId), step, note, pipeline);
  }

  async rerunQuote(
    runId: string,
    steps: readonly string[],
    options: Omit<RerunQuoteOptions, "rerun"> = {},
  ): Promise<RerunQuote & Offer> {
    const state = await this.foreseenOurs(runId);
    const quoted = await rerunQuote(state, { ...options, rerun: steps }, this.planner);
    return { ...quoted.scope, ...(await this.#offer(state, quoted)) };
  }

  async #offer(state: RunState, made: Quoted<RerunQuote>): Promise<Offer> {
    const { stale, problems } = made.scope;
    const isOffered = stale.length > 0 && problems.length === 0 && this.repository.isOurs(state);
    return isOffered ? this.planner.offers.issue(madeAgain(state, { ...made, maxUnquotedMicros: null })) : NO_OFFER;
  }
}
