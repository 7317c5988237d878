import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import { type Clock, systemClock } from "../../api/index.ts";
import type { Pipeline, Returns } from "../../define/index.ts";
import { readFamilies } from "../../families/index.ts";
import { RunUnknownError } from "../../journal/errors.ts";
import { isDriven } from "../../journal/host.ts";
import { openJournal } from "../../journal/open.ts";
import { isRunFinal, type RunState } from "../../journal/state.ts";
import type { JournalStore } from "../../journal/store.ts";
import { folderOfJournal } from "../../kit/journal-location.ts";
import { tagTexts } from "../../kit/tags.ts";
import { shellWord } from "../../kit/value-text.ts";
import { refuseWhileLoading } from "../../kit/while-loading.ts";
import { changesBetween, type FieldChange, type PlanDiff } from "../../plan/index.ts";
import type { Json } from "../../plan/plan.ts";
import { fileOf } from "../../run/next-command.ts";
import { DEFAULT_IDEMPOTENCY_WINDOW_MS } from "../../run/request-identity.ts";
import { outdatedStops } from "../change/compare.ts";
import { isSamePlan } from "../change/drift.ts";
import { replanRun } from "../change/replanning.ts";
import { replanFor, revise } from "../change/revision.ts";
import { type AttachedParts, attach, follow, watch } from "../drive/attached-run.ts";
import type { DriveDependencies } from "../drive/drive-tools.ts";
import type { HolderParts } from "../drive/leased-drive.ts";
import { changesLimits, type Start } from "../drive/resume-run.ts";
import { type RunHandle, type RunHandleOf, result } from "../drive/run-result.ts";
import { RunSupervisor } from "../drive/run-supervisor.ts";
import { JobOwners } from "../effects/effect.ts";
import { functionsFor, withSubstitutes } from "../effects/functions.ts";
import { rehearsal } from "../effects/index.ts";
import { PlanProblemsError, RunDiffersError } from "../errors.ts";
import { collectGarbage, type GcOptions, type GcReport } from "../media/gc.ts";
import { openMedia } from "../media/open-media.ts";
import { Spending, spendingLimits } from "../money/spending.ts";
import { type AccountMove, accountMove } from "../money/wallet.ts";
import { Notifier, openNotifications } from "../notify/notifications.ts";
import {
  checkDuration,
  checkOpenOptions,
  checkTurns,
  checkWaits,
  DEFAULT_LEASE_MS,
  inputDoor,
  type OpenOptions,
  type ResumeOptions,
  type RunOptions,
  textOption,
  turnOf,
  usdOption,
} from "../options/options.ts";
import type { Planner } from "../price/planner.ts";
import { keysReusedBy } from "../reuse/result-cache.ts";
import { openService } from "../service/embedded-service.ts";
import type { Substitutes } from "../service/rehearsal.ts";
import { GIVE_UP_AFTER_MS } from "../service/service-answers.ts";
import { type LocalWork, RunSlices, type Slice, type SliceOptions } from "../slice/run-slices.ts";
import { createRun, type Parts, PlannedRuns } from "./planned-runs.ts";
import type { EnginePort, Showrunner } from "./showrunner.ts";

export class EmbeddedShowrunner extends PlannedRuns implements Showrunner, EnginePort {
  readonly notifications: Showrunner["notifications"];
  readonly #notifier: Notifier | null;
  readonly #supervisor: RunSupervisor;
  readonly #slices: RunSlices;
  readonly #jobOwners = new JobOwners();
  readonly #spending: Spending;
  readonly #followed = new Map<string, RunHandle>();
  readonly #closed = new AbortController();

  constructor(parts: Parts) {
    super(parts);
    const { client, store, repository, account, clock, durations } = this;
    const { media, options } = parts;
    this.#spending = new Spending({ client, store, account, now: this.now, ...parts.limits });
    const { send, ...notifications } = parts.notifications;
    this.#notifier = send === null ? null : new Notifier({ store, clock, send });
    this.notifications = { ...notifications, start: () => this.#notifier?.poke() };
    const holding: HolderParts = {
      store,
      repository,
      clock,
      durations,
      leaseMs: options.leaseMs ?? DEFAULT_LEASE_MS,
      notifier: this.#notifier,
      dependencies: (state, how) => this.#dependencies(state, how),
    };
    this.#supervisor = new RunSupervisor({ ...holding, client, media });
    this.#slices = new RunSlices({ ...holding, client });
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
    const again = { signal, pipeline, giveUpAfterMs, waitForCapMs };
    const { runId } = state;
    const followOther: Start["followOther"] = (updates, stop) => {
      const send = () => void this.stop(runId);
      if (stop.aborted) send();
      stop.addEventListener("abort", send, { once: true });
      return follow(runId, state.seq, this.#attached(runId, again), updates);
    };
    const how = { ...again, quoted, code, followOther };
    return this.#supervisor.open(state, how, tools) as RunHandleOf<R>;
  }

  async start(pipeline: Pipeline, input: unknown, options: RunOptions = {}): Promise<{ readonly id: string }> {
    const created = await createRun(this.#creating(), { pipeline, input, options }, { forEngine: true });
    if (created === null) {
      await checkSameRun(await this.loadOurs(options.id!), { pipeline, input, options }, this.planner);
      return { id: options.id! };
    }
    await this.#slices.hand(created.state, created.quoted);
    return { id: created.state.runId };
  }

  get journal() {
    return this.store;
  }

  get media() {
    return this.parts.media;
  }

  get engine(): EnginePort {
    return this;
  }

  async slice(runId: string, options: SliceOptions = {}): Promise<Slice> {
    const { resume } = options;
    checkWaits(options);
    checkDuration("maxMs", options.maxMs);
    const how = resume === undefined ? null : await this.#resuming(await this.repository.load(runId), resume);
    const slice = await this.#slices.slice(runId, options, how);
    // Engines use this machine's clock, so convert the time.
    const { wakeAt } = slice;
    return wakeAt === null ? slice : { ...slice, wakeAt: wakeAt - (this.store.clockOffsetMs?.() ?? 0) };
  }

  work(work: LocalWork, options?: Pick<SliceOptions, "findPipeline" | "signal">): Promise<void> {
    return this.#slices.work(work, options);
  }

  #creating() {
    this.#refuseWithoutService();
    const { store, repository, now, balanceGlance: balance } = this;
    const [planner, durations] = [this.planner, this.durations];
    return { planner, durations, media: this.parts.media, balance, store, repository, now };
  }

  #attached(id: string, how: ResumeOptions, known: RunState | null = null): AttachedParts {
    return {
      store: this.store,
      clock: this.clock,
      load: () => this.repository.load(id),
      resultOf: (now) => result(now, this.parts.media),
      // If the other process dies, a stop that it did not process must still apply.
      takeOver: () => this.resume(id, { ...how, unattended: true }),
      continues: (state) => {
        if (state.pause?.reason === "budget") return changesLimits(state, how);
        // Continue only from the pause that the caller knew of. A later pause, such as a stop, still applies.
        return state.pause?.reason === "late" && isDeepStrictEqual(state.pause, known?.pause);
      },
    };
  }

  async #goOnWith(id: string, pipeline: Pipeline, input: unknown, options: RunOptions): Promise<RunHandle> {
    const state = await this.loadOurs(id);
    refuseWhileLoading(pipeline.name);
    await checkSameRun(state, { pipeline, input, options }, this.planner);
    const { signal, budget, agree, maxUnquoted, giveUpAfterMs, waitForCapMs } = options;
    const limits = { ...(isOtherBudget(state, usdOption("budget", budget)) && { budget }), agree, maxUnquoted };
    const how = { signal, pipeline, compare: false, giveUpAfterMs, waitForCapMs, ...limits };
    const row = await this.store.run(id);
    const isHere = this.#supervisor.handleOf(id) !== undefined;
    if (isHere || row === null || isRunFinal(state.status) || !isDriven(row, this.now())) {
      return this.#supervisor.open(state, { ...(await this.#resuming(state, how)), leavesGivenUp: true });
    }
    return attach(row, this.#attached(id, how, state), signal);
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

  async follow(runId: string): Promise<RunHandle> {
    const known = () => this.#supervisor.handleOf(runId) ?? this.#followed.get(runId);
    const row = known() === undefined ? await this.store.run(runId) : null;
    const found = known();
    if (found !== undefined) return found;
    if (row === null) throw new RunUnknownError(runId);
    const handle = watch(row, this.#attached(runId, {}), this.#closed.signal);
    this.#followed.set(runId, handle);
    const forget = () => void this.#followed.delete(runId);
    handle.result().then(forget, forget);
    return handle;
  }

  #refuseWithoutService(): void {
    const refusal = this.parts.service.unusable ?? this.service.missingKey;
    if (refusal !== null) throw refusal;
  }

  async #resuming(known: RunState, options: ResumeOptions): Promise<Start> {
    checkWaits(options);
    textOption("note", options.note);
    this.#refuseWithoutService();
    const move = await this.#move(known, options);
    refuseWhileLoading(known.planned.plan.pipeline);
    const inbox = await this.store.inbox(known.runId);
    const outdated = outdatedStops(inbox, options.unattended === true);
    // Process earlier messages before changing anything.
    const state = inbox.length === 0 ? known : (await this.foreseen(known.runId)).state;
    const again = await replanFor(state, options, this.planner);
    const revision = await revise(state, options, again, this.planner);
    const code = again?.ok ? again.code : undefined;
    const lastStop = Math.max(known.pause?.stopId ?? 0, ...outdated);
    return { ...options, revision, code, outdatedStops: outdated, lastStop, move };
  }

  async gc(options: GcOptions = {}): Promise<GcReport> {
    checkDuration("olderThanMs", options.olderThanMs);
    return collectGarbage({ store: this.store, media: this.parts.media, now: this.now }, options);
  }

  spending(of: { readonly tag?: string | undefined; readonly account?: string | undefined } = {}) {
    return this.#spending.totals(of);
  }

  async balance() {
    return this.client.balance();
  }

  requests(): { readonly total: number } {
    return { total: this.client.pace().sent };
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.allSettled([...this.#followed.values()].map((handle) => handle.result()));
    await this.#supervisor.stopAll();
    await this.#notifier?.close();
    await this.parts.service.close();
    if (this.parts.ownsStore) await this.store.close();
  }

  async #move(run: RunState, { accountMoved = false }: ResumeOptions): Promise<AccountMove | undefined> {
    if (this.repository.isOurs(run)) return undefined;
    if (!accountMoved) this.repository.checkAccount(run);
    return accountMove({ client: this.client, account: this.repository.account }, run);
  }

  #substitutes(): Substitutes | null {
    const byDefault = this.service.kind === "local" ? rehearsal(this.client.baseUrl) : "call";
    const providers = this.parts.options.providers ?? byDefault;
    return providers === "call" ? null : providers;
  }

  #dependencies(state: RunState, { code, pipeline, giveUpAfterMs = GIVE_UP_AFTER_MS }: Start): DriveDependencies {
    const { options, media } = this.parts;
    // Also send notifications that an earlier process left in the outbox.
    this.#notifier?.poke();
    let reusedKeys: Set<string> | null = null;
    return {
      client: this.client,
      media,
      handles: this.handles,
      estimates: this.planner.estimates,
      cache: this.cache,
      reusedKeys: () => (reusedKeys ??= keysReusedBy(state)),
      freshUrls: new Map(),
      jobOwners: this.#jobOwners,
      repository: this.repository,
      turn: turnOf(state.runId, state.planned.tags ?? {}, options.turns),
      store: this.store,
      clock: this.clock,
      now: this.now,
      functions: withSubstitutes(functionsFor(state, { code, pipeline }), this.#substitutes()),
      inside: inputDoor(options).inside,
      expansions: this.planner,
      follow: options.follow ?? "auto",
      spending: this.#spending.watch(state),
      giveUpAfterMs,
      idempotencyWindowMs: options.idempotencyWindowMs ?? DEFAULT_IDEMPOTENCY_WINDOW_MS,
      inboxEveryMs: 1000,
    };
  }
}

/** True if a repeated start requests a different budget than the first start did. */
function isOtherBudget({ budgetMicros, planned }: RunState, given: number | null): boolean {
  const { agreed, budgetTag } = planned;
  if (given === null || given === budgetMicros) return false;
  return agreed === undefined || budgetTag !== undefined || given !== agreed.budgetMicros;
}

/** Opens the journal, the media store and the service. Call `close` on the result when done. */
export async function openShowrunner(options: OpenOptions = {}): Promise<Showrunner> {
  checkOpenOptions(options);
  const limits = spendingLimits(options);
  checkTurns(options.turns);
  const notifications = openNotifications(options);
  const ownFamilies = options.families ?? ((options.env ?? process.env).SHOWRUNNER_FAMILIES || undefined);
  const families = readFamilies(ownFamilies);
  const journal = options.journal ?? ((options.env ?? process.env).SHOWRUNNER_JOURNAL || ".showrunner/journal.db");
  const store = typeof journal === "string" ? await openJournal(journal) : journal;
  try {
    const folder = typeof journal === "string" ? folderOfJournal(journal) : ".showrunner";
    const { media: location, mediaDir = join(folder, "media"), env } = options;
    const media = await openMedia({ media: location, mediaDir, env, isReadOnly: store.isReadOnly === true });
    const clock = clockOf(store, options.clock ?? systemClock);
    const isShared = store.clockOffsetMs !== undefined && options.client === undefined;
    const all = isShared ? { ...options, clientOptions: { clock, ...options.clientOptions } } : options;
    const service = await openService({ ...all, families: ownFamilies });
    const ownsStore = typeof journal === "string";
    return new EmbeddedShowrunner({
      options: { ...options, clock },
      limits,
      notifications,
      families,
      store,
      ownsStore,
      media,
      service,
    });
  } catch (error) {
    if (typeof journal === "string") await store.close();
    throw error;
  }
}

/** Returns the clock shared by all machines that use the journal; `clock` if the journal has none. */
function clockOf(store: JournalStore, clock: Clock): Clock {
  if (store.clockOffsetMs === undefined) return clock;
  return {
    now: () => clock.now() + store.clockOffsetMs!(),
    setTimer: (delayMs, fire, options) => clock.setTimer(delayMs, fire, options),
  };
}

async function checkSameRun(
  state: RunState,
  { pipeline, input, options }: { readonly pipeline: Pipeline; readonly input: unknown; readonly options: RunOptions },
  planner: Planner,
): Promise<void> {
  const { planned } = state;
  const differs = (what: readonly string[], next: string) => new RunDiffersError(state.runId, what, next);
  const another = "choose another id";
  if (planned.plan.pipeline !== pipeline.name) {
    throw differs([`it runs pipeline ${planned.plan.pipeline}, not ${pipeline.name}`], another);
  }
  const [was, is] = [planned.profile?.name ?? null, options.profile ?? null];
  if (was !== is) throw differs([`profile: ${was ?? "none"} → ${is ?? "none"}`], another);
  if (options.tags !== undefined) {
    const [had, has] = [tagTexts(planned.tags), tagTexts(options.tags)].map((tags) => tags.join(", ") || "none");
    if (had !== has) throw differs([`tags: ${had} → ${has}`], another);
  }
  const again = await replanRun(state, pipeline, planner, { whole: input });
  if (!again.ok) throw new PlanProblemsError(again.problems);
  const fields = changesBetween(planned.input, again.input);
  if (fields.length === 0 && isSamePlan(planned.plan, again.plan, again.diff)) return;
  const what = [...fields.map(fieldSaid), ...stepsSaid(again.diff)];
  throw differs(what, takeUp(state, again.input, fields, options));
}

function fieldSaid({ field, before, after }: FieldChange): string {
  return `input.${field}: ${said(before)} → ${said(after)}`;
}

const MOST = 60;

function said(value: Json | undefined): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length <= MOST ? text : `${text.slice(0, MOST)}…`;
}

function stepsSaid({ changed, added, removed, renamed }: PlanDiff): readonly string[] {
  return [
    ...changed.map(({ path, fields }) => `${path} changed (${fields.map(({ field }) => field).join(", ")})`),
    ...added.map((path) => `${path} is new`),
    ...removed.map((path) => `${path} was removed`),
    ...renamed.map(({ from, to }) => `${from} was renamed to ${to}`),
  ];
}

function takeUp(state: RunState, input: Json, fields: readonly FieldChange[], { source }: RunOptions): string {
  const named = [...new Set(fields.map(({ field }) => /^[^.[]+/.exec(field)?.[0] ?? field))];
  const now = input as { readonly [field: string]: Json };
  const words = named.map((name) => {
    const value = now[name] ?? null;
    return typeof value === "string" ? `${name}=${value}` : `${name}:=${JSON.stringify(value)}`;
  });
  const file = fileOf(source === undefined ? state : { ...state, planned: { ...state.planned, source } });
  const corrections = words.map((word) => ` -i ${shellWord(word)}`).join("");
  return `showrunner resume ${state.runId} --file ${file}${corrections} --accept-changes   (or choose another --id)`;
}
