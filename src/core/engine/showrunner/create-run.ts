import { randomBytes, randomUUID } from "node:crypto";
import { access, constants, mkdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Pipeline } from "../../define/index.ts";
import { RunExistsError } from "../../journal/errors.ts";
import { newRun, type RunEvent, type RunPlanned } from "../../journal/events.ts";
import type { RunRepository } from "../../journal/run-repository.ts";
import type { RunState } from "../../journal/state.ts";
import type { JournalStore } from "../../journal/store.ts";
import { cleanText } from "../../kit/clean-text.ts";
import { InvalidOptionError } from "../../kit/errors.ts";
import { LongWork } from "../../kit/long-work.ts";
import { ownVersion } from "../../kit/own-version.ts";
import { checkTags, tagTexts } from "../../kit/tags.ts";
import { refuseWhileLoading } from "../../kit/while-loading.ts";
import { firstPrices } from "../drive/begin-run.ts";
import { type DriveTools, driveTools } from "../drive/drive-tools.ts";
import { type Code, codeOf } from "../effects/functions.ts";
import { OverBudgetError, PlanProblemsError } from "../errors.ts";
import type { MediaStore } from "../media/media-store.ts";
import { checkWallet, type GlancedBalance } from "../money/wallet.ts";
import {
  checkLimits,
  checkOneOf,
  checkRunId,
  checkWaits,
  limitsOf,
  type RunOptions,
  textOption,
  usdOption,
} from "../options/options.ts";
import type { ExpectedDurations } from "../price/expected.ts";
import { newRun as offeredRun } from "../price/offers.ts";
import type { Planned, Planner } from "../price/planner.ts";

export interface CreateParts {
  readonly planner: Planner;
  readonly durations: ExpectedDurations;
  readonly balance: GlancedBalance;
  readonly store: JournalStore;
  readonly repository: RunRepository;
  readonly media: MediaStore;
  readonly now: () => number;
}

export interface CreatedRun {
  readonly state: RunState;
  readonly tools: DriveTools | null;
  /** The prices to record when the run begins. */
  readonly quoted: readonly RunEvent[];
  readonly code: Code;
}

/** How old accepted prices may be when a run starts, in milliseconds, before they are requested again. */
const PRICES_AGREED_MS = 30_000;
/** Milliseconds after which an engine checks the run, in case this process dies before recording the prices. */
const PRICED_WITHIN_MS = 30_000;

/** Creates a run; null if a run with this id exists and should be continued. */
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
    // Prepare while another thread packs a large plan, unless the state does not have all prices yet.
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
  if (options.outDir?.trim() === "") throw new InvalidOptionError("outDir", "is empty; omit it for out/<run id>.");
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

/** Node's recursive `mkdir` would report ENOENT on a read-only disk, and would never return below `/proc`. */
async function makeFolder(path: string): Promise<void> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return null;
  });
  if (found?.isDirectory()) return;
  if (dirname(path) !== path) await makeFolder(dirname(path));
  try {
    await mkdir(path);
  } catch (error) {
    // A broken link exists, but has no target, so `stat` throws ENOENT.
    if ((error as NodeJS.ErrnoException).code === "EEXIST" && (await stat(path)).isDirectory()) return;
    throw error;
  }
}

const REASONS: Readonly<Record<string, (path: string) => string>> = {
  EEXIST: (path) => `${path} is not a folder`,
  ENOENT: (path) => `${path} is a broken link`,
  ENOTDIR: (path) => `${path} has a parent that is not a folder`,
  ELOOP: (path) => `${path} is a link that points back to itself`,
  ENAMETOOLONG: (path) => `the name ${path} is too long`,
  EACCES: (path) => `this user cannot write to ${path}`,
  EPERM: (path) => `this user cannot write to ${path}`,
  EROFS: (path) => `${path} is on a read-only disk`,
  ENOSPC: (path) => `the disk that contains ${path} is full`,
};
