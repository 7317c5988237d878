import type { z } from "zod";
import { type Clock, systemClock } from "../../api/index.ts";
import type { Pipeline, Returns } from "../../define/index.ts";
import type { Families } from "../../families/index.ts";
import { accountOf } from "../../journal/record.ts";
import { RunRepository } from "../../journal/run-repository.ts";
import { isRunFinal, type RunState } from "../../journal/state.ts";
import type { JournalStore } from "../../journal/store.ts";
import type { Plan, PlanStep } from "../../plan/plan.ts";
import { checkSameRun } from "../change/check-same-run.ts";
import { type Comparison, compareWithRun, notCompared, summaryOf } from "../change/compare.ts";
import { type Drift, driftOf, type RerunQuote } from "../change/drift.ts";
import { replanFor, rerunQuote, revise } from "../change/revision.ts";
import { outdatedStops } from "../change/stops.ts";
import { attach, isDriven } from "../drive/attached-run.ts";
import type { Start } from "../drive/begin-run.ts";
import type { DriveDependencies } from "../drive/drive-options.ts";
import type { HolderParts } from "../drive/hold-run.ts";
import { type RunHandle, type RunHandleOf, result } from "../drive/run-result.ts";
import { RunSupervisor } from "../drive/run-supervisor.ts";
import { refuseWhileLoading } from "../drive/while-loading.ts";
import { functionsFor } from "../effects/functions.ts";
import { collectGarbage, type GcOptions, type GcReport } from "../media/gc.ts";
import { UploadHandles } from "../media/handles.ts";
import type { MediaStore } from "../media/media-store.ts";
import { type AccountMove, accountMove } from "../money/account-move.ts";
import { balanceOf, Spending, type SpendingLimits } from "../money/spending.ts";
import type { openNotifications } from "../notify/notifications.ts";
import { Notifier } from "../notify/notifier.ts";
import {
  type CompareOptions,
  checkLimits,
  limitsOf,
  type OpenOptions,
  type PlanOptions,
  type QuoteOptions,
  type ResumeOptions,
  type RunOptions,
  usdOption,
} from "../options/options.ts";
import { turnOf } from "../options/turns.ts";
import { ExpectedDurations } from "../price/expected-durations.ts";
import { Planner } from "../price/planner.ts";
import type { Quote } from "../price/quote.ts";
import { explainPlanned, explainRun, type StepExplanation } from "../reuse/explain.ts";
import { claimedBy, ResultCache } from "../reuse/result-cache.ts";
import type { Service } from "../service/embedded-service.ts";
import { GIVE_UP_AFTER_MS } from "../service/service-answers.ts";
import { RunSlices } from "../slice/run-slices.ts";
import type { LocalWork, Slice, SliceOptions } from "../slice/slice-options.ts";
import { createRun } from "./create-run.ts";
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

/** One process that drives its runs itself, on a journal that others may read and write to as well. */
export class EmbeddedShowrunner extends StoredRuns implements Showrunner {
  readonly service: { readonly kind: "hosted" | "local"; readonly baseUrl: string };
  readonly notifications: Showrunner["notifications"];
  readonly #notifier: Notifier | null;
  readonly #parts: Parts;
  readonly #clock: Clock;
  readonly #handles: UploadHandles;
  readonly #durations: ExpectedDurations;
  readonly #planner: Planner;
  readonly #supervisor: RunSupervisor;
  readonly #slices: RunSlices;
  readonly #cache: ResultCache;
  readonly #spending: Spending;

  constructor(parts: Parts) {
    const { store, media, service, options } = parts;
    const { client, kind, origin } = service;
    const clock = options.clock ?? systemClock;
    const repository = new RunRepository(store, { origin, keyId: client.keyId });
    super({ client, store, repository, now: () => clock.now() });
    this.#parts = parts;
    this.#clock = clock;
    this.service = {
      kind,
      get baseUrl() {
        return client.baseUrl;
      },
    };
    this.#handles = new UploadHandles({ client, store, media, now: this.now });
    const account = accountOf({ baseUrl: origin, keyId: client.keyId });
    this.#cache = new ResultCache({ client, store, media, account, repository, now: this.now });
    const durations = new ExpectedDurations({ store, account, families: parts.families, now: this.now });
    this.#durations = durations;
    this.#planner = new Planner({
      ...{ client, media, durations, service: kind, cache: this.#cache },
      ...{ handles: this.#handles, now: this.now, families: parts.families },
    });
    this.#spending = new Spending({ client, store, account, now: this.now, ...parts.limits });
    const { send, ...notifications } = parts.notifications;
    this.#notifier = send === null ? null : new Notifier({ store, clock, send });
    this.notifications = { ...notifications, start: () => this.#notifier?.poke() };
    const holding: HolderParts = {
      ...{ store, repository, clock, durations },
      leaseMs: options.leaseMs ?? 30_000,
      notifier: this.#notifier,
      dependencies: (state, how) => this.#dependencies(state, how),
    };
    this.#supervisor = new RunSupervisor({ ...holding, client, media });
    this.#slices = new RunSlices(holding);
  }

  async plan(pipeline: Pipeline, input: unknown, options: PlanOptions = {}) {
    const produced = await this.#planner.plan(pipeline, input, options);
    return produced.ok ? { ok: true as const, plan: produced.plan } : produced;
  }

  async quote(pipeline: Pipeline, input: unknown, options: QuoteOptions = {}): Promise<Quote> {
    const { maxUnquoted, profile, reuse, concurrency } = options;
    const maxUnquotedMicros = usdOption("maxUnquoted", maxUnquoted);
    const limits = limitsOf(concurrency);
    const quote = await this.#planner.quote(pipeline, input, { maxUnquotedMicros, profile, reuse, limits });
    if (quote.plan !== null) checkLimits(limits, quote.plan);
    const balanceMicros = quote.ok ? await balanceOf(this.client) : null;
    return { ...quote, balanceMicros, budgetMicros: usdOption("budget", options.budget) };
  }

  async run<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options: RunOptions = {},
  ): Promise<RunHandleOf<R>> {
    const created = await createRun(this.#creating(), { pipeline, input, options });
    if (created === null) return this.#goOnWith(options.id!, pipeline, input, options) as Promise<RunHandleOf<R>>;
    const { state, tools, quoted, code } = created;
    const { signal, giveUpAfterMs, waitForCapMs } = options;
    const how = { quoted, code, signal, pipeline, giveUpAfterMs, waitForCapMs };
    return this.#supervisor.open(state, how, tools) as RunHandleOf<R>;
  }

  async start(pipeline: Pipeline, input: unknown, options: RunOptions = {}): Promise<{ readonly id: string }> {
    const created = await createRun(this.#creating(), { pipeline, input, options }, { forEngine: true });
    if (created === null) {
      await checkSameRun(await this.loadOurs(options.id!), { pipeline, input, options }, this.#planner);
      return { id: options.id! };
    }
    await this.#slices.hand(created.state, created.quoted);
    return { id: created.state.runId };
  }

  async slice(runId: string, options: SliceOptions = {}): Promise<Slice> {
    const { resume } = options;
    const how = resume === undefined ? null : await this.#resuming(await this.repository.load(runId), resume);
    return this.#slices.slice(runId, options, how);
  }

  work(work: LocalWork, options?: Pick<SliceOptions, "findPipeline" | "signal">): Promise<void> {
    return this.#slices.work(work, options);
  }

  #creating() {
    const { client, store, repository, now } = this;
    const [planner, durations] = [this.#planner, this.#durations];
    return { planner, durations, media: this.#parts.media, client, store, repository, now };
  }

  /** Goes on with a run that was planned from the very same, or follows whoever drives it. */
  async #goOnWith(id: string, pipeline: Pipeline, input: unknown, options: RunOptions): Promise<RunHandle> {
    const state = await this.loadOurs(id);
    refuseWhileLoading(pipeline.name);
    await checkSameRun(state, { pipeline, input, options }, this.#planner);
    const { signal, budget, maxUnquoted, giveUpAfterMs, waitForCapMs } = options;
    const isRaised = usdOption("budget", budget) !== null && usdOption("budget", budget) !== state.budgetMicros;
    const limits = { ...(isRaised && { budget }), maxUnquoted };
    const how = { signal, pipeline, compare: false, giveUpAfterMs, waitForCapMs, ...limits };
    const row = await this.store.run(id);
    if (row === null || isRunFinal(state.status) || !isDriven(row, this.now())) return this.resume(id, how);
    // Nobody asks again when that process dies: a stop that it has not taken in still stands.
    const takeOver = () => this.resume(id, { ...how, unattended: true });
    const parts = { store: this.store, clock: this.#clock, load: () => this.repository.load(id), takeOver };
    return attach(row, { ...parts, resultOf: (now) => result(now, this.#parts.media) }, signal);
  }

  async compare(pipeline: Pipeline, input: unknown, options: CompareOptions): Promise<Comparison> {
    const { against, profile, reuse } = options;
    const maxUnquotedMicros = usdOption("maxUnquoted", options.maxUnquoted);
    const run = await this.loadOurs(against);
    const produced = await this.#planner.plan(pipeline, input, { profile });
    if (!produced.ok) return notCompared(against, produced.problems);
    const held = compareWithRun(produced.plan, run);
    const stale = new Set(held.stale.map(({ path }) => path));
    const only = produced.plan.steps.filter(({ path }) => stale.has(path));
    const quote = await this.#planner.price(produced.plan, { maxUnquotedMicros, reuse }, only);
    const { ok, problems, plan, prices, totalMicros } = quote;
    const summary = summaryOf(held, produced.plan, totalMicros);
    return { ...held, ok, problems, against, plan, prices, totalMicros, summary };
  }

  async explain(of: string | Plan, step: string): Promise<StepExplanation> {
    if (typeof of !== "string") return explainPlanned(this.#cache, of, step);
    return explainRun(this.#cache, await this.loadOurs(of), step);
  }

  expectedMs(step: PlanStep): number | null {
    return this.#durations.knownMs(step);
  }

  resume<S extends z.ZodType, R extends Returns>(
    runId: string,
    options: ResumeOptions & { readonly pipeline: Pipeline<S, R> },
  ): Promise<RunHandleOf<R>>;
  resume(runId: string, options?: ResumeOptions): Promise<RunHandle>;
  async resume(runId: string, options: ResumeOptions = {}): Promise<RunHandle> {
    const known = await this.repository.load(runId);
    return this.#supervisor.open(known, await this.#resuming(known, options));
  }

  async #resuming(known: RunState, options: ResumeOptions): Promise<Start> {
    const move = await this.#move(known, options);
    refuseWhileLoading(known.planned.plan.pipeline);
    const outdated = outdatedStops(await this.store.inbox(known.runId), options.unattended === true);
    const again = await replanFor(known, options, this.#planner);
    const revision = await revise(known, options, again, this.#planner);
    const code = again?.ok ? again.code : undefined;
    return { ...options, revision, code, outdatedStops: outdated, move };
  }

  async drift(runId: string, pipeline: Pipeline, options: Pick<ResumeOptions, "input"> = {}): Promise<Drift> {
    return driftOf(await this.loadOurs(runId), pipeline, this.#planner, options);
  }

  async rerunQuote(
    runId: string,
    steps: readonly string[],
    options: Pick<ResumeOptions, "requestId" | "rerunFailed"> = {},
  ): Promise<RerunQuote> {
    return rerunQuote(await this.loadOurs(runId), { ...options, rerun: steps }, this.#planner);
  }

  gc(options: GcOptions = {}): Promise<GcReport> {
    return collectGarbage({ store: this.store, media: this.#parts.media, now: this.now }, options);
  }

  spending() {
    return this.#spending.totals();
  }

  async balance() {
    return this.client.balance();
  }

  requests(): { readonly total: number } {
    return { total: this.client.pace().sent };
  }

  async close(): Promise<void> {
    await this.#supervisor.stopAll();
    await this.#notifier?.close();
    await this.#parts.service.close();
    if (this.#parts.ownsStore) await this.store.close();
  }

  /** Undefined where the run is of this account already, so that a repeated command goes on. */
  async #move(run: RunState, { accountMoved = false }: ResumeOptions): Promise<AccountMove | undefined> {
    if (this.repository.isOurs(run)) return undefined;
    if (!accountMoved) this.repository.checkAccount(run);
    return accountMove({ client: this.client, account: this.repository.account }, run);
  }

  #dependencies(state: RunState, { code, pipeline, giveUpAfterMs = GIVE_UP_AFTER_MS }: Start): DriveDependencies {
    const { options, media } = this.#parts;
    // What an earlier process left in the outbox goes out too.
    this.#notifier?.poke();
    let claimed: Set<string> | null = null;
    return {
      notifier: this.#notifier,
      client: this.client,
      media,
      handles: this.#handles,
      estimates: this.#planner.estimates,
      cache: this.#cache,
      claimed: () => (claimed ??= claimedBy(state)),
      freshUrls: new Map(),
      turn: turnOf(state.runId, state.planned.tags ?? {}, options.turns),
      ...{ store: this.store, clock: this.#clock, now: this.now },
      functions: functionsFor(state, { code, pipeline }),
      expansions: this.#planner,
      follow: options.follow ?? "auto",
      spending: this.#spending.watch(state.planned.tags ?? {}),
      leaseMs: options.leaseMs ?? 30_000,
      giveUpAfterMs,
      idempotencyWindowMs: options.idempotencyWindowMs ?? 24 * 3_600_000,
      inboxEveryMs: 1000,
    };
  }
}
