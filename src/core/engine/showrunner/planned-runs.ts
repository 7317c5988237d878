import { randomBytes, randomUUID } from "node:crypto";
import { access, constants, mkdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type Clock, systemClock } from "../../api/index.ts";
import type { Pipeline } from "../../define/index.ts";
import type { Families } from "../../families/index.ts";
import { RunExistsError } from "../../journal/errors.ts";
import { newRun, type RunEvent, type RunPlanned } from "../../journal/events.ts";
import { RunRepository } from "../../journal/run-repository.ts";
import type { RunState } from "../../journal/state.ts";
import type { JournalStore } from "../../journal/store.ts";
import { cleanText } from "../../kit/clean-text.ts";
import { InvalidOptionError } from "../../kit/errors.ts";
import { LongWork } from "../../kit/long-work.ts";
import { ownVersion } from "../../kit/own-version.ts";
import { checkTags, tagTexts } from "../../kit/tags.ts";
import { refuseWhileLoading } from "../../kit/while-loading.ts";
import type { PlanStep } from "../../plan/plan.ts";
import { type Comparison, compareWithRun, notCompared, summaryOf } from "../change/compare.ts";
import { type Drift, type DriftOptions, madeAgain, type RerunQuote } from "../change/drift.ts";
import { type Redo, redoOf } from "../change/edits.ts";
import { driftQuote, type Quoted, type RerunQuoteOptions, rerunQuote } from "../change/revision.ts";
import { type DriveTools, driveTools } from "../drive/drive-tools.ts";
import { firstPrices } from "../drive/resume-run.ts";
import { type Code, codeOf } from "../effects/functions.ts";
import { type Offer, OverBudgetError, PlanProblemsError } from "../errors.ts";
import { UploadHandles } from "../media/handles.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { SpendingLimits } from "../money/spending.ts";
import { checkWallet, GlancedBalance } from "../money/wallet.ts";
import type { openNotifications } from "../notify/notifications.ts";
import {
  type CompareOptions,
  checkLimits,
  checkOneOf,
  checkRunId,
  checkWaits,
  inputDoor,
  limitsOf,
  type OpenOptions,
  type PlanOptions,
  type QuoteOptions,
  type RunOptions,
  textOption,
  usdOption,
} from "../options/options.ts";
import { ExpectedDurations } from "../price/expected.ts";
import { NO_OFFER, newRun as offeredRun } from "../price/offers.ts";
import { type Planned, Planner } from "../price/planner.ts";
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

interface CreateParts {
  readonly planner: Planner;
  readonly durations: ExpectedDurations;
  readonly balance: GlancedBalance;
  readonly store: JournalStore;
  readonly repository: RunRepository;
  readonly media: MediaStore;
  readonly now: () => number;
}

interface CreatedRun {
  readonly state: RunState;
  readonly tools: DriveTools | null;
  readonly quoted: readonly RunEvent[];
  readonly code: Code;
}

/** Maximum age of accepted prices when a run starts, in milliseconds. Older prices are requested again. */
const PRICES_AGREED_MS = 30_000;
/** Time in milliseconds after which an engine checks the run, in case this process dies before recording the prices. */
const PRICED_WITHIN_MS = 30_000;

/** Creates a run. Returns null if a run with this id exists and should be continued. */
export async function createRun(
  { planner, durations, balance, store, repository, media, now }: CreateParts,
  { pipeline, input, options }: { readonly pipeline: Pipeline; readonly input: unknown; readonly options: RunOptions },
  { forEngine = false }: { readonly forEngine?: boolean } = {},
): Promise<CreatedRun | null> {
  const id = options.id ?? `${pipeline.name}-${randomUUID().slice(0, 8)}`;
  checkRunId(id);
  const budgetMicros = usdOption("budget", options.budget);
  const maxUnquotedMicros = usdOption("maxUnquoted", options.maxUnquoted);
  const limits = limitsOf(options.concurrency);
  checkWaits(options);
  checkOneOf("onExisting", options.onExisting, ["resume", "fail"]);
  textOption("title", options.title);
  const { reuse = false, onExisting = "resume" } = options;
  const isThere = options.id !== undefined && (await store.run(id)) !== null;
  if (isThere && onExisting === "fail") throw new RunExistsError(id);
  if (isThere) return null;
  const produced = await planner.plan(pipeline, input, options);
  if (!produced.ok) throw new PlanProblemsError(produced.problems);
  checkLimits(limits, produced.plan);
  if (options.quote !== undefined) planner.estimates.forgetOlderThan(PRICES_AGREED_MS);
  const quote = await planner.price(produced.plan, { maxUnquotedMicros, reuse, limits, isForecast: false });
  if (!quote.ok) throw new PlanProblemsError(quote.problems);
  const offered = offeredRun(produced, quote, maxUnquotedMicros);
  const agreed = options.quote === undefined ? null : await planner.offers.agreed(options.quote, offered);
  if (budgetMicros !== null && quote.expectedMicros > budgetMicros)
    throw new OverBudgetError(quote.expectedMicros, budgetMicros);
  if (options.startAnyway !== true) await checkWallet(balance, repository, quote.totalMicros.min);
  refuseWhileLoading(pipeline.name);
  const { origin: baseUrl, keyId } = repository.account;
  const isOwn = options.budgetTag === undefined;
  const most = agreed === null || !isOwn ? budgetMicros : Math.min(budgetMicros ?? Infinity, agreed.maximumMicros);
  const amounts = {
    budgetMicros: most,
    maxUnquotedMicros,
    limits,
    quoteMicros: quote.expectedMicros,
    ...(agreed !== null && { agreed: { ...agreed, ...(budgetMicros !== null && { budgetMicros }) } }),
  };
  const where = { baseUrl, keyId, ...(store.project !== undefined && { project: store.project }) };
  const planned = runPlanned({ id, pipeline, produced, options }, { ...amounts, ...where });
  await prepareOutDir(planned.outDir);
  await media.checkWritable();
  // Use the quote last. If the process dies before the run is recorded, only the quote is lost.
  if (agreed !== null) await planner.offers.use(agreed.quote, id, offered);
  const at = now();
  const state = newRun(id, planned, at);
  try {
    const written = store.createRun(id, planned, at, forEngine ? { at: at + PRICED_WITHIN_MS, memo: null } : undefined);
    const quoted = firstPrices(produced.plan, quote.prices);
    // Prepare the run while its plan is being stored, unless prices must be recorded first.
    const isReady = !forEngine && quoted.length === 0;
    const ready = isReady ? readyTools(state, durations).catch(() => null) : null;
    const [tools] = await Promise.all([ready, written]);
    // Return only these parts of the draft and quote, because they stay in memory for the whole run.
    return { state, tools, quoted, code: codeOf(produced.draft) };
  } catch (error) {
    const isMeanwhile = error instanceof RunExistsError && options.id !== undefined && onExisting === "resume";
    if (!isMeanwhile) throw error;
    return null;
  }
}

async function readyTools(state: RunState, durations: ExpectedDurations): Promise<DriveTools> {
  const tools = await driveTools(state, durations);
  await new LongWork().pause(state.planned.plan.steps.length);
  tools.scheduler.prepare();
  return tools;
}

interface NewRun {
  readonly id: string;
  readonly pipeline: Pipeline;
  readonly produced: Planned;
  readonly options: RunOptions;
}

const MOST_TITLE = 120;

function titleOf(said = ""): { readonly title?: string } {
  const title = cleanText(said.replace(/\s+/gu, " ").trim(), MOST_TITLE).toWellFormed();
  return title === "" ? {} : { title };
}

type Agreed = Pick<
  RunPlanned,
  "agreed" | "budgetMicros" | "maxUnquotedMicros" | "limits" | "quoteMicros" | "baseUrl" | "keyId" | "project"
>;

function runPlanned({ id, pipeline, produced, options }: NewRun, agreed: Agreed): RunPlanned {
  const tags = checkTags(options.tags);
  const { budgetTag } = options;
  if (budgetTag !== undefined && !tagTexts(tags).includes(budgetTag))
    throw new InvalidOptionError("budgetTag", `${JSON.stringify(budgetTag)} is not a tag of the run; add it to tags.`);
  if (options.outDir?.trim() === "") throw new InvalidOptionError("outDir", "is empty; omit it to use out/<run id>.");
  return {
    type: "run.planned",
    plan: produced.plan,
    input: produced.parsedInput,
    nonce: randomBytes(16).toString("hex"),
    ...agreed,
    outDir: resolve(options.outDir ?? join("out", id)),
    ...(options.filesFrom !== undefined && { filesFrom: options.filesFrom.map((path) => resolve(path)) }),
    source: options.source ?? null,
    ...titleOf(options.title ?? produced.draft.title),
    ...(Object.keys(tags).length > 0 && { tags }),
    ...(budgetTag !== undefined && { budgetTag }),
    ...(options.reuse && { reuse: true }),
    ...(produced.profile !== null && { profile: produced.profile }),
    ...(options.manifests === false && { manifests: false as const }),
    ...(options.marks === true && { marks: true as const }),
    ...(pipeline.consent != null && { consent: pipeline.consent }),
    basis: produced.basis,
    program: ownVersion(),
  };
}

async function prepareOutDir(outDir: string): Promise<void> {
  const fault = await faultOf(outDir);
  if (fault === null) return;
  throw new InvalidOptionError(
    "outDir",
    `cannot write files to ${outDir}: ${fault}. Nothing was submitted.`,
    "run the command again with --out and a folder that this user can write to",
  );
}

async function faultOf(path: string): Promise<string | null> {
  try {
    await makeFolder(path);
    await access(path, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    const { code = "", path: at = path, syscall } = error as NodeJS.ErrnoException;
    const isUnexplained = code === "ENOENT" && syscall !== "stat";
    return (isUnexplained ? undefined : REASONS[code]?.(at)) ?? `the system refused ${at} (${code})`;
  }
}

/**
 * Creates a folder and its parents. Node's recursive `mkdir` would report ENOENT on a read-only disk, and would never
 * return for paths under `/proc`.
 */
async function makeFolder(path: string, hasParent = dirname(path) === path): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && !hasParent) {
      await makeFolder(dirname(path));
      await makeFolder(path, true);
      return;
    }
    // A broken link exists, but has no target, so `stat` throws ENOENT.
    const found = await stat(path).catch((missing: Error) => {
      throw code === "EEXIST" ? missing : error;
    });
    if (!found.isDirectory()) throw error;
  }
}

const REASONS: Readonly<Record<string, (path: string) => string>> = {
  EEXIST: (path) => `${path} is not a folder`,
  ENOENT: (path) => `${path} is a broken link`,
  ENOTDIR: (path) => `part of the path ${path} is not a folder`,
  ELOOP: (path) => `${path} is a link that points back to itself`,
  ENAMETOOLONG: (path) => `the name ${path} is too long`,
  EACCES: (path) => `this user cannot write to ${path}`,
  EPERM: (path) => `this user cannot write to ${path}`,
  EROFS: (path) => `${path} is on a read-only disk`,
  ENOSPC: (path) => `the disk that contains ${path} is full`,
};
