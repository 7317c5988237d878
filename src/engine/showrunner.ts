import { randomBytes, randomUUID } from "node:crypto";
import { dirname, join, resolve } from "node:path";
import type { z } from "zod";
import { type Client, type Clock, type JobSummary, sleep, systemClock } from "../api/index.ts";
import { type Catalog, fetchCatalog } from "../catalog/index.ts";
import type { Pipeline, Returns } from "../define/index.ts";
import { RunUnknownError } from "../journal/errors.ts";
import type { PauseReason, RunEvent, RunLimits, StoredEvent } from "../journal/events.ts";
import { apply, FOLD_VERSION, fold } from "../journal/fold.ts";
import { isHolderDead, thisHolder } from "../journal/host.ts";
import { openSqliteJournal } from "../journal/sqlite.ts";
import { type AttemptState, isRunFinal, type RunPlanned, type RunState } from "../journal/state.ts";
import type { JournalStore, Lease, RunRow } from "../journal/store.ts";
import { formatUsd, parseUsd } from "../money.ts";
import { criticalPath, draft, filesOf, makePlan, modelsOf } from "../plan/index.ts";
import type { Plan, Problem } from "../plan/plan.ts";
import { type RunReport, runReport } from "../run/report.ts";
import { type DriveDependencies, drive } from "./drive.ts";
import { openService, type Service, type ServiceOptions } from "./embedded-service.ts";
import {
  AccountMismatchError,
  InvalidOptionError,
  OverBudgetError,
  PlanProblemsError,
  RunBusyError,
} from "./errors.ts";
import { EstimateCache } from "./estimates.ts";
import { collectGarbage, type GcOptions, type GcReport } from "./gc.ts";
import { UploadHandles } from "./handles.ts";
import { measureFiles } from "./measure-files.ts";
import { type MediaStore, openMediaStore } from "./media-store.ts";
import { expectedMs, type PastDurations, pastDurations } from "./past-durations.ts";
import { pricePlan, type Quote } from "./quote.ts";
import { compareWithService, type ReconcileReport } from "./reconcile.ts";
import { type ResultsOf, runOutputs } from "./results.ts";
import { type RunUpdate, Updates } from "./updates.ts";

export interface OpenOptions extends ServiceOptions {
  /** Journal file, or a store. Default: environment SHOWRUNNER_JOURNAL, else `.showrunner/journal.db`. */
  readonly journal?: string | JournalStore | undefined;
  /** Folder of downloaded bytes, by content hash. Default: `media` beside the journal. */
  readonly mediaDir?: string | undefined;
  /** How jobs are followed. Default `auto`. */
  readonly follow?: "auto" | "stream" | "poll" | undefined;
  readonly clock?: Clock | undefined;
  /** A frozen holder keeps a run this long, milliseconds. Default 30 000. A dead one is replaced at once. */
  readonly leaseMs?: number | undefined;
  /** An unanswered submit older than this is not sent again, milliseconds. Default 24 h. */
  readonly idempotencyWindowMs?: number | undefined;
}

export interface RunOptions {
  /** Names the run; letters, digits, `.`, `_` and `-`. Default: made up. */
  readonly id?: string | undefined;
  /** The most that the run may cost, a decimal of US dollars. Default: no cap. */
  readonly budget?: string | undefined;
  /** Jobs at once: in all (default 8), or by `total`, model id and modality. */
  readonly concurrency?: number | { readonly [name: string]: number | undefined } | undefined;
  /** The most that one job without a quote may cost, a decimal of US dollars. */
  readonly maxUnquoted?: string | undefined;
  /** Folder of the named files. Default `out/<run id>`. */
  readonly outDir?: string | undefined;
  /** Aborting stops gracefully: no new submits, those under way are settled. */
  readonly signal?: AbortSignal | undefined;
  readonly source?: { readonly file: string; readonly exportName: string } | undefined;
}

export interface ResumeOptions {
  readonly signal?: AbortSignal | undefined;
  /** A new budget, decimal of US dollars, in place of the run's own. */
  readonly budget?: string | undefined;
  /** Likewise for the most that one job without a quote may cost. */
  readonly maxUnquoted?: string | undefined;
  /** Stay and try again for so long while the wallet is short, milliseconds. Default 0. */
  readonly waitForFundsMs?: number | undefined;
}

export interface RunResult<O = unknown> {
  readonly id: string;
  readonly status: "succeeded" | "partial" | "failed" | "cancelled" | "paused";
  /** What the pipeline returns, as far as it exists; a missing part is null. */
  readonly outputs: O;
  readonly cost: { readonly micros: number; readonly usd: string };
  readonly pause: {
    readonly reason: PauseReason;
    readonly message: string;
    readonly fundingUrl: string | null;
    readonly requiredMicros: number | null;
    readonly balanceMicros: number | null;
  } | null;
  readonly report: RunReport;
  /** Jobs that go on, and bill, at the service although this run stopped watching. */
  readonly stillRunning: readonly { readonly step: string; readonly jobId: string | null }[];
}

export interface RunHandle<O = unknown> {
  readonly id: string;
  /** Every event from the run's first on, then progress as it comes; ends with the run. */
  events(): AsyncIterable<RunUpdate>;
  /** Resolves when the run is through or pauses; rejects for what is wrong outside of it (a refused key, a full disk). */
  result(): Promise<RunResult<O>>;
  /** No new submits; those under way are settled, then the run pauses. */
  stop(): Promise<void>;
}

export interface Showrunner {
  /** The client that everything here goes through, for what has no word of its own. */
  readonly client: Client;
  readonly service: { readonly kind: "hosted" | "local"; readonly baseUrl: string };
  /** All problems at once, or the plan. Reads the catalog, sends nothing else. */
  plan<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
  ): Promise<
    { readonly ok: true; readonly plan: Plan } | { readonly ok: false; readonly problems: readonly Problem[] }
  >;
  /** The plan with prices. Spends nothing. */
  quote<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options?: { readonly maxUnquoted?: string | undefined },
  ): Promise<Quote>;
  run<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options?: RunOptions,
  ): Promise<RunHandle<ResultsOf<R>>>;
  resume(runId: string, options?: ResumeOptions): Promise<RunHandle>;
  runs(): Promise<readonly RunRow[]>;
  show(runId: string): Promise<RunReport>;
  events(
    runId: string,
    options?: { readonly follow?: boolean; readonly afterSeq?: number; readonly signal?: AbortSignal },
  ): AsyncIterable<StoredEvent>;
  /** Asks whoever drives the run to stop it. */
  stop(runId: string): Promise<void>;
  /**
   * Jobs that an unanswered submit of this step may have made: those of its model around that instant that no run of
   * this journal knows. A person decides which it is, with `adopt`.
   */
  candidates(runId: string, step: string): Promise<readonly JobSummary[]>;
  /** Says which job an unresolved step made; null: none. Takes effect when the run is resumed. */
  adopt(runId: string, step: string, jobId: string | null): Promise<void>;
  /**
   * Compares journal, ledger and the service's job list: one run, or every run of this account. Lists what differs and
   * changes nothing.
   */
  reconcile(runId?: string): Promise<ReconcileReport>;
  /**
   * Removes finished runs that are old, then the media in the store that no run names any more. A run with money still
   * held stays; files placed in a run's own folder stay.
   */
  gc(options?: GcOptions): Promise<GcReport>;
  balance(): Promise<{ readonly balanceMicros: number; readonly currency: string }>;
  /** API requests sent since this Showrunner was opened. */
  requests(): { readonly total: number };
  /** Stops its runs gracefully, then closes journal, client and embedded service. */
  close(): Promise<void>;
}

/** Opens journal, media store and service. Close it when done. */
export async function openShowrunner(options: OpenOptions = {}): Promise<Showrunner> {
  const journal = options.journal ?? process.env.SHOWRUNNER_JOURNAL ?? ".showrunner/journal.db";
  const store = typeof journal === "string" ? await openSqliteJournal(journal) : journal;
  try {
    const folder = typeof journal === "string" ? dirname(journal) : ".showrunner";
    const media = await openMediaStore(resolve(options.mediaDir ?? join(folder, "media")));
    const service = await openService(options);
    return new EmbeddedShowrunner({ options, store, ownsStore: typeof journal === "string", media, service });
  } catch (error) {
    if (typeof journal === "string") await store.close();
    throw error;
  }
}

interface Parts {
  readonly options: OpenOptions;
  readonly store: JournalStore;
  readonly ownsStore: boolean;
  readonly media: MediaStore;
  readonly service: Service;
}

const DEFAULT_LIMIT = 8;
/** A job made this long before or after an intent may be its own. */
const NEAR_MS = 10 * 60_000;
/** How often a run that waits for funds looks at the wallet. */
const FUNDS_EVERY_MS = 10_000;
/** Runs that expected durations are learnt from. */
const REMEMBERED_RUNS = 10;
/** Catalog entries and estimates are believed for so long. */
const CACHE_MS = 5 * 60_000;
const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

class EmbeddedShowrunner implements Showrunner {
  readonly service: { readonly kind: "hosted" | "local"; readonly baseUrl: string };
  readonly #parts: Parts;
  readonly client: Client;
  readonly #store: JournalStore;
  readonly #clock: Clock;
  readonly #handles: UploadHandles;
  readonly #models = new Map<string, { readonly at: number; readonly answer: ReturnType<Client["model"]> }>();
  readonly #estimates: EstimateCache;
  readonly #running = new Map<Promise<unknown>, AbortController>();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.client = parts.service.client;
    this.#store = parts.store;
    this.#clock = parts.options.clock ?? systemClock;
    this.service = { kind: parts.service.kind, baseUrl: this.client.baseUrl };
    this.#estimates = new EstimateCache(this.client, this.#now, CACHE_MS);
    this.#handles = new UploadHandles({ client: this.client, store: this.#store, media: parts.media, now: this.#now });
  }

  readonly #now = () => this.#clock.now();

  async plan(pipeline: Pipeline, input: unknown) {
    const made = await this.#plan(pipeline, input);
    return made.ok ? { ok: true as const, plan: made.plan } : made;
  }

  async #plan(pipeline: Pipeline, input: unknown) {
    const drafted = draft(pipeline, input);
    if (drafted.draft === null) return { ok: false as const, problems: drafted.problems };
    const files = await measureFiles(filesOf(drafted.draft));
    const catalog = await this.#catalog(modelsOf(drafted.draft));
    const made = makePlan(drafted.draft, { catalog, files });
    const problems = [...drafted.problems, ...(made.ok ? [] : made.problems)];
    return made.ok && problems.length === 0 ? made : { ok: false as const, problems };
  }

  /** Read once for a quote and the run that follows it; the service has the last word anyway. */
  #catalog(ids: readonly string[]): Promise<Catalog> {
    const model = (id: string) => {
      const kept = this.#models.get(id);
      if (kept !== undefined && this.#now() - kept.at < CACHE_MS) return kept.answer;
      const answer = this.client.model(id);
      this.#models.set(id, { at: this.#now(), answer });
      answer.catch(() => this.#models.delete(id));
      return answer;
    };
    return fetchCatalog({ models: () => this.client.models(), model }, ids);
  }

  async quote(
    pipeline: Pipeline,
    input: unknown,
    options: { readonly maxUnquoted?: string | undefined } = {},
  ): Promise<Quote> {
    const made = await this.#plan(pipeline, input);
    if (made.ok) return this.#price(made.plan, usdOption("maxUnquoted", options.maxUnquoted));
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

  async #price(plan: Plan, maxUnquotedMicros: number | null): Promise<Quote> {
    const { media } = this.#parts;
    const past = await this.#past();
    const estimates = this.#estimates;
    return pricePlan(plan, { handles: this.#handles, estimates, media, past, maxUnquotedMicros });
  }

  /** How long the models took in the newest runs of this journal. */
  async #past(): Promise<PastDurations> {
    const runs = await this.#store.runs({ limit: REMEMBERED_RUNS });
    return pastDurations(await Promise.all(runs.map(({ runId }) => this.#load(runId))));
  }

  async run<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options: RunOptions = {},
  ): Promise<RunHandle<ResultsOf<R>>> {
    const id = options.id ?? `${pipeline.name}-${randomUUID().slice(0, 8)}`;
    if (!RUN_ID.test(id)) {
      throw new InvalidOptionError(
        "id",
        `${JSON.stringify(id)} is no run id; use up to 100 letters, digits, ".", "_" and "-".`,
      );
    }
    const budgetMicros = usdOption("budget", options.budget);
    const maxUnquotedMicros = usdOption("maxUnquoted", options.maxUnquoted);
    const limits = limitsOf(options.concurrency);
    const made = await this.#plan(pipeline, input);
    if (!made.ok) throw new PlanProblemsError(made.problems);
    const quote = await this.#price(made.plan, maxUnquotedMicros);
    if (!quote.ok) throw new PlanProblemsError(quote.problems);
    const most = quote.totalMicros.max ?? quote.totalMicros.min;
    if (budgetMicros !== null && most > budgetMicros) throw new OverBudgetError(most, budgetMicros);
    const planned: RunPlanned = {
      type: "run.planned",
      plan: made.plan,
      input: made.parsedInput,
      baseUrl: this.#parts.service.origin,
      keyId: this.client.keyId,
      nonce: randomBytes(16).toString("hex"),
      budgetMicros,
      maxUnquotedMicros,
      limits,
      quoteMicros: quote.totalMicros.max,
      outDir: resolve(options.outDir ?? join("out", id)),
      source: options.source ?? null,
    };
    await this.#store.createRun(id, planned, this.#now());
    return this.#open(id, { quote, signal: options.signal }) as Promise<RunHandle<ResultsOf<R>>>;
  }

  async resume(runId: string, options: ResumeOptions = {}): Promise<RunHandle> {
    return this.#open(runId, options);
  }

  runs(): Promise<readonly RunRow[]> {
    return this.#store.runs();
  }

  async show(runId: string): Promise<RunReport> {
    return runReport(await this.#load(runId));
  }

  async *events(
    runId: string,
    options: { readonly follow?: boolean; readonly afterSeq?: number; readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<StoredEvent, void, undefined> {
    if ((await this.#store.run(runId)) === null) throw new RunUnknownError(runId, "the journal");
    let afterSeq = options.afterSeq ?? 0;
    for (;;) {
      const events = await this.#store.read(runId, { afterSeq });
      for (const event of events) {
        yield event;
        afterSeq = event.seq;
        if (event.event.type === "run.finished") return;
      }
      if (options.follow !== true || options.signal?.aborted === true) return;
      await this.#store.waitForChange(runId, afterSeq, options.signal).catch(() => {});
    }
  }

  async stop(runId: string): Promise<void> {
    if ((await this.#store.run(runId)) === null) throw new RunUnknownError(runId, "the journal");
    await this.#store.send(runId, { type: "stop" }, this.#now());
  }

  async candidates(runId: string, step: string): Promise<readonly JobSummary[]> {
    const { attempt } = await this.#unresolved(runId, step);
    const known = await this.#knownJobs();
    const found: JobSummary[] = [];
    for await (const job of this.client.modelJobs(attempt.model!)) {
      const createdAt = Date.parse(job.createdAt ?? "");
      if (createdAt < attempt.intendedAt! - NEAR_MS) break;
      if (createdAt <= attempt.intendedAt! + NEAR_MS && !known.has(job.jobId)) found.push(job);
    }
    return found;
  }

  async adopt(runId: string, step: string, jobId: string | null): Promise<void> {
    const { attempt } = await this.#unresolved(runId, step);
    if (jobId !== null) {
      const list = `showrunner adopt ${runId} ${step}   (lists the jobs it may have made)`;
      if ((await this.#knownJobs()).has(jobId)) {
        throw new InvalidOptionError("job-id", `${jobId} is the job of another step already.`, list);
      }
      const job = await this.client.job(jobId);
      if (job.model !== "" && job.model !== attempt.model) {
        const message = `${jobId} ran on ${job.model}, and ${step} asked for ${attempt.model}.`;
        throw new InvalidOptionError("job-id", message, list);
      }
    }
    await this.#store.send(runId, { type: "adopt", step, jobId }, this.#now());
  }

  async #unresolved(runId: string, step: string): Promise<{ readonly attempt: AttemptState }> {
    const state = await this.#load(runId);
    this.#checkAccount(state);
    const found = Object.hasOwn(state.steps, step) ? state.steps[step] : undefined;
    const attempt = found?.attempts.at(-1);
    if (attempt?.phase === "unresolved") return { attempt };
    const message =
      found === undefined ? `run "${runId}" has no step ${step}` : `${step} is ${found.status}, not unresolved`;
    throw new InvalidOptionError("step", `${message}.`, `showrunner show ${runId}`);
  }

  /** A run stays with the account that pays for it; another one has neither its jobs nor its wallet. */
  #checkAccount(state: RunState): void {
    if (this.#isOurs(state)) return;
    const here = this.#parts.service.origin;
    const { runId, planned } = state;
    const { baseUrl, keyId } = planned;
    throw new AccountMismatchError(runId, `key ${keyId} at ${baseUrl}`, `key ${this.client.keyId} at ${here}`);
  }

  #isOurs({ planned: { baseUrl, keyId } }: RunState): boolean {
    return baseUrl === this.#parts.service.origin && keyId === this.client.keyId;
  }

  async #knownJobs(): Promise<ReadonlySet<string>> {
    const known = new Set<string>();
    for (const { runId } of await this.#store.runs()) {
      for (const step of Object.values((await this.#load(runId)).steps)) {
        for (const { jobId } of step.attempts) if (jobId !== null) known.add(jobId);
      }
    }
    return known;
  }

  async reconcile(runId?: string): Promise<ReconcileReport> {
    const states: RunState[] = [];
    for (const id of runId === undefined ? (await this.#store.runs()).map((row) => row.runId) : [runId]) {
      const state = await this.#load(id);
      if (runId !== undefined) this.#checkAccount(state);
      if (this.#isOurs(state)) states.push(state);
    }
    const known = await this.#knownJobs();
    return compareWithService({ client: this.client, store: this.#store, now: this.#now, known }, states);
  }

  gc(options: GcOptions = {}): Promise<GcReport> {
    return collectGarbage({ store: this.#store, media: this.#parts.media, now: this.#now }, options);
  }

  balance() {
    return this.client.balance();
  }

  requests(): { readonly total: number } {
    return { total: this.client.pace().sent };
  }

  async close(): Promise<void> {
    for (const stop of this.#running.values()) stop.abort();
    await Promise.allSettled(this.#running.keys());
    await this.#parts.service.close();
    if (this.#parts.ownsStore) await this.#store.close();
  }

  /** Takes the lease, folds what is there, and drives the run in the background. */
  async #open(runId: string, how: ResumeOptions & { readonly quote?: Quote }): Promise<RunHandle> {
    const known = await this.#load(runId);
    this.#checkAccount(known);
    const updates = new Updates();
    const stop = new AbortController();
    how.signal?.addEventListener("abort", () => stop.abort(), { once: true });
    if (how.signal?.aborted === true) stop.abort();
    const done = this.#drive(runId, known, updates, stop, how).finally(() => {
      updates.end();
      this.#running.delete(done);
    });
    this.#running.set(done, stop);
    done.catch(() => {});
    return {
      id: runId,
      events: () => updates.read(),
      result: () => done,
      stop: async () => {
        stop.abort();
        await done.catch(() => {});
      },
    };
  }

  async #drive(
    runId: string,
    known: RunState,
    updates: Updates,
    stop: AbortController,
    how: ResumeOptions & { readonly quote?: Quote },
  ): Promise<RunResult> {
    if (isRunFinal(known.status)) {
      updates.push(await this.#store.read(runId));
      return result(known, this.#parts.media);
    }
    const leaseMs = this.#parts.options.leaseMs ?? 30_000;
    const at = this.#now();
    const outcome = await this.#store.takeLease(runId, thisHolder(randomUUID()), {
      at,
      ttlMs: leaseMs,
      isDead: isHolderDead,
    });
    if (!outcome.taken) throw new RunBusyError(runId, outcome.heldBy, outcome.expiresAt);
    updates.push(await this.#store.read(runId));
    const state = await this.#load(runId);
    await this.#begin(state, outcome.lease, updates, how);
    const past = await this.#past();
    const { rank } = criticalPath(state.planned.plan, (step) => expectedMs(step, past));
    const order = [...state.planned.plan.steps].sort((a, b) => rank.get(b.path)! - rank.get(a.path)!);
    const longest = Math.max(1, ...rank.values());
    await drive(this.#dependencies(leaseMs), state, outcome.lease, {
      order,
      rank: (step) => Math.round((50 * (rank.get(step) ?? 0)) / longest),
      stop: stop.signal,
      onEvents: (events) => updates.push(events),
      onProgress: (progress) => updates.progress(progress),
    });
    const funded = await this.#awaitFunds(state, stop.signal, how.waitForFundsMs ?? 0);
    if (!funded) return result(state, this.#parts.media);
    const { waitForFundsMs = 0 } = how;
    return this.#drive(runId, state, updates, stop, { waitForFundsMs: waitForFundsMs - (this.#now() - at) });
  }

  /** True once the wallet holds what the paused run asked for; false when it is not paused for funds, or time is up. */
  async #awaitFunds(state: RunState, signal: AbortSignal, forMs: number): Promise<boolean> {
    if (state.status !== "paused" || state.pause?.reason !== "funds") return false;
    const wanted = state.pause.requiredMicros ?? (state.pause.balanceMicros ?? 0) + 1;
    for (const until = this.#now() + forMs; this.#now() < until; ) {
      await sleep(this.#clock, Math.min(FUNDS_EVERY_MS, until - this.#now()), signal).catch(() => {});
      if (signal.aborted) return false;
      const { balanceMicros } = await this.client.balance({ signal });
      if (balanceMicros >= wanted) return true;
    }
    return false;
  }

  /** First prices into the journal, or a paused run set going again. */
  async #begin(
    state: RunState,
    lease: Lease,
    updates: Updates,
    how: ResumeOptions & { readonly quote?: Quote },
  ): Promise<void> {
    const prices = how.quote?.prices ?? [];
    const events: readonly RunEvent[] = [
      ...prices.flatMap(({ step, costMicros, basis }) =>
        basis === "free" ? [] : [{ type: "job.quoted", step, attempt: 1, costMicros, basis } as const],
      ),
      ...budgetEvents(state, how),
      ...(state.status === "paused" ? [{ type: "run.resumed" } as const] : []),
    ];
    if (events.length === 0) return;
    const at = this.#now();
    const afterSeq = state.seq;
    const stored = events.map(
      (event, index): StoredEvent => ({ runId: state.runId, seq: afterSeq + index + 1, at, version: 1, event }),
    );
    for (const one of stored) apply(state, one);
    const outcome = await this.#store.commit({ lease, afterSeq, at, events, status: state.status });
    if (!outcome.committed) throw new RunBusyError(state.runId, thisHolder(""), at);
    updates.push(stored);
  }

  #dependencies(leaseMs: number): DriveDependencies {
    return {
      client: this.client,
      media: this.#parts.media,
      handles: this.#handles,
      estimates: this.#estimates,
      freshUrls: new Map(),
      store: this.#store,
      clock: this.#clock,
      now: this.#now,
      follow: this.#parts.options.follow ?? "auto",
      leaseMs,
      idempotencyWindowMs: this.#parts.options.idempotencyWindowMs ?? 24 * 3_600_000,
      inboxEveryMs: 1000,
    };
  }

  async #load(runId: string): Promise<RunState> {
    const row = await this.#store.run(runId);
    if (row === null) throw new RunUnknownError(runId, "the journal");
    const snapshot = await this.#store.snapshot(runId);
    if (snapshot !== null && snapshot.foldVersion === FOLD_VERSION) {
      const state = structuredClone(snapshot.state) as unknown as RunState;
      for (const event of await this.#store.read(runId, { afterSeq: snapshot.seq })) apply(state, event);
      return state;
    }
    const state = fold(await this.#store.read(runId));
    if (state === null) throw new RunUnknownError(runId, "the journal");
    return state;
  }
}

function result(state: RunState, media: MediaStore): RunResult {
  const paused = state.status === "paused" || !isRunFinal(state.status);
  const atService = Object.values(state.steps).flatMap((step) => {
    const attempt = step.attempts.at(-1);
    const open = ["submitting.sent", "submitting.unknown", "inQueue", "inProgress"].includes(attempt?.phase ?? "");
    return open ? [{ step: step.path, jobId: attempt!.jobId }] : [];
  });
  return {
    id: state.runId,
    status: paused ? "paused" : (state.status as "succeeded"),
    outputs: runOutputs(state, media),
    cost: { micros: state.spentMicros, usd: formatUsd(state.spentMicros) },
    pause: state.pause,
    report: runReport(state),
    stillRunning: atService,
  };
}

function budgetEvents(state: RunState, { budget, maxUnquoted }: ResumeOptions): readonly RunEvent[] {
  if (budget === undefined && maxUnquoted === undefined) return [];
  const budgetMicros = usdOption("budget", budget) ?? state.budgetMicros;
  const maxUnquotedMicros = usdOption("maxUnquoted", maxUnquoted) ?? state.maxUnquotedMicros;
  return [{ type: "run.budget.set", budgetMicros, maxUnquotedMicros }];
}

function usdOption(option: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const micros = parseUsd(text);
  if (micros === null) {
    throw new InvalidOptionError(
      option,
      `${JSON.stringify(text)} is no amount of dollars; write it like "5" or "0.25".`,
    );
  }
  return micros;
}

function limitsOf(concurrency: RunOptions["concurrency"]): RunLimits {
  const given = typeof concurrency === "number" ? { total: concurrency } : (concurrency ?? {});
  const perModel: Record<string, number> = {};
  const perModality: Record<string, number> = {};
  for (const [name, limit] of Object.entries(given)) {
    if (limit === undefined) continue;
    if (!Number.isSafeInteger(limit) || limit < 1) {
      throw new InvalidOptionError(`concurrency.${name}`, `${limit} is no number of jobs; use a whole number from 1.`);
    }
    if (name === "image" || name === "video" || name === "audio") perModality[name] = limit;
    else if (name !== "total") perModel[name] = limit;
  }
  return { total: given.total ?? DEFAULT_LIMIT, perModel, perModality };
}
