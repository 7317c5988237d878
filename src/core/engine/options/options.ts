import { resolve } from "node:path";
import type { Clock, Turn } from "../../api/index.ts";
import type { Pipeline, ProfileFields } from "../../define/index.ts";
import type { Chosen } from "../../journal/events.ts";
import { LONGEST_LEASE_MS } from "../../journal/host.ts";
import type { RunsQuery } from "../../journal/search.ts";
import type { JournalStore } from "../../journal/store.ts";
import { webOrigin } from "../../kit/clean-text.ts";
import { InvalidOptionError } from "../../kit/errors.ts";
import { isRunId, safeFileName } from "../../kit/file-name.ts";
import { didYouMean } from "../../kit/lookup.ts";
import { parseUsd } from "../../kit/money.ts";
import { checkTags, type Tags } from "../../kit/tags.ts";
import { valueText } from "../../kit/value-text.ts";
import { expansionsIn, type JobLimits } from "../../plan/index.ts";
import type { Json, Plan } from "../../plan/plan.ts";
import type { NotifyOptions } from "../notify/notifications.ts";
import type { ServiceOptions } from "../service/embedded-service.ts";
import type { Substitutes } from "../service/rehearsal.ts";

export const DEFAULT_LEASE_MS = 30_000;
/** Minimum duration of a lease. A process must be able to renew its lease several times before the lease ends. */
const SHORTEST_LEASE_MS = 1_000;

/** A limit on the total that the account's runs in one journal may spend. */
export interface CapOption {
  /** The amount in US dollars, as a decimal string. */
  readonly usd: string;
  /**
   * `day`: the cap applies to each day separately, in the time zone {@link OpenOptions.capTimeZone}. Default: it
   * applies to the total of all days.
   */
  readonly per?: "day" | undefined;
  /**
   * The tag of the runs to which the cap applies, such as `team=video`; `team=*` applies it to each team separately.
   * Default: all runs.
   */
  readonly tag?: string | undefined;
}

/** Options for `openShowrunner`. */
export interface OpenOptions extends ServiceOptions, NotifyOptions {
  /**
   * Private origins, such as `http://assets.corp:8080`, that URLs in inputs may use in addition to public ones.
   * Default: none.
   */
  readonly inside?: readonly string[] | undefined;
  /** The folder that must contain all uploaded files. Symbolic links that lead out of it are refused. Default: any folder. */
  readonly filesDir?: string | undefined;
  /**
   * The journal: a file, a `postgres://` URL, or a store. Default: the environment variable `SHOWRUNNER_JOURNAL`, then
   * `.showrunner/journal.db`.
   */
  readonly journal?: string | JournalStore | undefined;
  /**
   * Where media are stored: a shared folder, or a bucket in the form `s3://bucket/prefix`; see docs/shared-media.md.
   * Default: the environment variable `SHOWRUNNER_MEDIA`, then `mediaDir`.
   */
  readonly media?: string | undefined;
  /**
   * The folder on this machine for downloaded files, which are named by content hash. If `media` is a bucket, this
   * folder holds cached copies. Default: `media` beside the journal, or in `.showrunner`.
   */
  readonly mediaDir?: string | undefined;
  /**
   * Which models `generate` steps call: the ones that they name (`call`), or substitutes that your functions return.
   * Default: `call`; with the local service, substitutes that make all media locally, without calling a provider.
   */
  readonly providers?: "call" | Substitutes | undefined;
  /** How jobs are followed until they end. Default `auto`. */
  readonly follow?: "auto" | "stream" | "poll" | undefined;
  /** The source of time. Default: the machine's clock. */
  readonly clock?: Clock | undefined;
  /**
   * How long a process that stops responding keeps control of its run, in milliseconds: a whole number from 1,000 to
   * 3,600,000 (one hour). Default 30,000.
   */
  readonly leaseMs?: number | undefined;
  /**
   * How this process's API requests take turns, so that a large run does not block small ones. Default: all runs get
   * equal shares.
   */
  readonly turns?: TurnsOption | undefined;
  /** How long an unanswered request may be retried, in milliseconds: a whole number above 0. Default 24 h. */
  readonly idempotencyWindowMs?: number | undefined;
  /**
   * The most that all of this account's runs in this journal may spend and reserve in total, in US dollars as a decimal
   * string. A request that would exceed this cap is not sent, and its run pauses with the reason `budget`. Runs removed
   * by `gc` no longer count. Default: the environment variable `SHOWRUNNER_SPENDING_CAP`, otherwise none.
   */
  readonly spendingCap?: string | undefined;
  /**
   * Additional caps. Each limits spending per tag, per day, or both. A cap can be a string such as
   * `team=video:10/day`. A run that reaches a daily cap pauses (`cap`); see `waitForCapMs`. Caps in the environment
   * variable `SHOWRUNNER_CAPS` apply too, unless a cap given here has the same tag and period.
   */
  readonly caps?: readonly (CapOption | string)[] | undefined;
  /**
   * The time zone for daily caps, as an IANA name. Default: the environment variable `SHOWRUNNER_CAP_TIME_ZONE`,
   * otherwise UTC.
   */
  readonly capTimeZone?: string | undefined;
  /**
   * The amount that must stay in the wallet, in US dollars as a decimal string. A request that could leave less is not
   * sent, and its run pauses (`funds`). Requires a key that is allowed to read the balance. Default: the environment
   * variable `SHOWRUNNER_WALLET_FLOOR`, otherwise none.
   */
  readonly walletFloor?: string | undefined;
}

interface DriveOptions {
  /**
   * Aborting this signal stops the run gracefully: nothing new is submitted, and requests in progress are completed.
   */
  readonly signal?: AbortSignal | undefined;
  /** The file and the export that contain the pipeline. Workers load its local functions from there. */
  readonly source?: { readonly file: string; readonly exportName: string } | undefined;
  /**
   * Maximum time to wait for an unavailable service, in milliseconds, before the run pauses (`unreachable` or
   * `misdirected`). Infinity means forever. Default 300,000.
   */
  readonly giveUpAfterMs?: number | undefined;
  /** Total time that the run may wait for daily caps to reset before it pauses, in milliseconds. Default 0. */
  readonly waitForCapMs?: number | undefined;
}

/** Options for `run`. */
export interface RunOptions extends DriveOptions {
  /**
   * What to do if a run with this `id` exists. With `resume`, the run continues if its plan and input are identical (if
   * another process is executing it, the call follows it); otherwise the call throws {@link RunDiffersError}. With
   * `fail`, the call throws {@link RunExistsError}. Default `resume`.
   */
  readonly onExisting?: "resume" | "fail" | undefined;
  /** The run's id, made of letters, digits, `.`, `_` and `-`. Default: a generated id. */
  readonly id?: string | undefined;
  /**
   * The title of the run, one line of up to 120 characters. Default: the title that the pipeline derives from the
   * input, if any.
   */
  readonly title?: string | undefined;
  /**
   * Up to 8 tags such as `{ team: "video" }`, for listing runs and for caps. Keys consist of letters, digits, `.`, `_`
   * and `-`. Values have at most 80 printable characters.
   */
  readonly tags?: { readonly [key: string]: string } | undefined;
  /** The most that the run may cost, in US dollars as a decimal string. Default: no limit. */
  readonly budget?: string | undefined;
  /**
   * The id of an accepted quote. The run starts only if its plan has not changed and costs no more than the quote's
   * maximum; otherwise the call throws {@link QuoteRefusedError}. The maximum then limits the run. Default: none.
   */
  readonly quote?: string | undefined;
  /** See {@link ResumeOptions.agree}. Has no effect on a new run. */
  readonly agree?: string | undefined;
  /** A tag of the run, as `key=value`. If set, `budget` limits all runs with that tag together. Default: none. */
  readonly budgetTag?: string | undefined;
  /**
   * Maximum number of concurrent jobs. A number is the limit for all jobs. An object can limit all jobs (`total`), or
   * the jobs of a model, provider or modality. Default: 8 in total.
   */
  readonly concurrency?: number | { readonly [name: string]: number | undefined } | undefined;
  /** Whether to start even if the wallet contains less than the plan's minimum price. Default false. */
  readonly startAnyway?: boolean | undefined;
  /** The most that one job may cost if the service quotes no price for it, in US dollars as a decimal string. */
  readonly maxUnquoted?: string | undefined;
  /** The files that this run's uploads may read; see {@link PlanOptions.filesFrom}. */
  readonly filesFrom?: PlanOptions["filesFrom"];
  /** The folder for the result files. Default `out/<run id>`. */
  readonly outDir?: string | undefined;
  /** The name of one of the pipeline's profiles, such as `draft`. Default: none, so the pipeline runs as written. */
  readonly profile?: string | undefined;
  /** Whether to reuse results of identical requests in this account's earlier runs, free of charge. Default false. */
  readonly reuse?: boolean | undefined;
  /** Whether each result file gets a manifest beside it, `<file>.json`. Default true. */
  readonly manifests?: boolean | undefined;
  /**
   * Whether to write IPTC's digital source type into each result file, as XMP; see docs/marks.md. A file that is
   * already marked or signed stays unchanged. Default false: result files are exactly what the service sent.
   */
  readonly marks?: boolean | undefined;
}

export interface PlanOptions {
  /** The name of one of the pipeline's profiles. Default: none. */
  readonly profile?: string | undefined;
  /**
   * Files and folders that uploads may read. Symbolic links that point outside them are refused. Later plans of the
   * run use the same list. Default: the `filesDir` of {@link OpenOptions}.
   */
  readonly filesFrom?: readonly string[] | undefined;
}

export interface QuoteOptions extends PlanOptions {
  /** The most that the run may cost, in US dollars as a decimal string. Default: no limit. */
  readonly budget?: string | undefined;
  /** The most that one job may cost if the service quotes no price for it, in US dollars as a decimal string. */
  readonly maxUnquoted?: string | undefined;
  /** Whether to price reusable results from earlier runs at zero; see {@link RunOptions.reuse}. Default false. */
  readonly reuse?: boolean | undefined;
  /** Whether to store the quote, so that a run can be started with it. Default true. */
  readonly keep?: boolean | undefined;
  /** The maximum number of concurrent jobs that the forecast assumes; see {@link RunOptions.concurrency}. Default 8. */
  readonly concurrency?: RunOptions["concurrency"];
}

export interface CompareOptions extends QuoteOptions {
  /** The id of the run to compare with. */
  readonly against: string;
}

/** Options for `resume`. */
export interface ResumeOptions extends DriveOptions {
  /**
   * The id of an accepted quote from `drift` or `rerunQuote`. Throws {@link QuoteRefusedError} if the steps to rerun
   * are no longer those in the quote, or cost more than its maximum. Default: none.
   */
  readonly quote?: string | undefined;
  /**
   * Maximum cost of this run alone, in US dollars as a decimal string. Also accepts unknown prices if the run has
   * paused because of them.
   */
  readonly agree?: string | undefined;
  /** A new budget for the run, in US dollars as a decimal string. */
  readonly budget?: string | undefined;
  /** The new maximum cost of one job for which the service quotes no price, in US dollars as a decimal string. */
  readonly maxUnquoted?: string | undefined;
  /**
   * The run's pipeline, needed for its local functions. If it differs from the run's plan, the run stays paused
   * (`drift`) unless `acceptChanges` is set.
   */
  readonly pipeline?: Pipeline | undefined;
  /**
   * Whether to compare `pipeline` with the run's plan. If false, only the functions of `pipeline` are used. Default
   * true.
   */
  readonly compare?: boolean | undefined;
  /**
   * Whether to apply the changes in `pipeline`: new and changed steps run, and so do all steps that use them. Default
   * false.
   */
  readonly acceptChanges?: boolean | undefined;
  /**
   * Fields that replace fields of the run's input, such as `{ voice: "iris" }`; objects are merged. Requires
   * `pipeline`. The changes are compared, priced and accepted in the same way as code changes.
   */
  readonly input?: { readonly [field: string]: unknown } | undefined;
  /**
   * Fields that replace input fields of this run's jobs and chats, by step path: `{ still: { prompt: "A red boat" } }`;
   * `undefined` omits a field. Edits stay in effect when the code changes. Requires `pipeline`. Edits are compared,
   * priced and accepted in the same way as code changes.
   */
  readonly edit?: { readonly [step: string]: ProfileFields } | undefined;
  /**
   * Whether to replace the old text of an edited field in all other steps too. If this is not set, the call is refused
   * when a local function, such as captions, has that text in its input.
   */
  readonly everywhere?: boolean | undefined;
  /** The reason for `edit` or `rerun`, stored in the journal. */
  readonly note?: string | undefined;
  /** Whether to rerun the steps that failed, fully or partly, and all steps that depend on them. Default false. */
  readonly rerunFailed?: boolean | undefined;
  /**
   * Paths of steps to rerun; all steps that use them are rerun too. In a path, `*` matches any characters, as in
   * `SKU-*.still`; such a path selects only finished steps. Also works for finished runs. See
   * {@link Showrunner.rerunQuote}.
   */
  readonly rerun?: readonly string[] | undefined;
  /**
   * Whether to rerun a step even if the code sets its seed and the request would therefore be the same as before.
   * Default false: such a rerun is refused.
   */
  readonly sameSeed?: boolean | undefined;
  /**
   * An id that makes a rerun or an edit idempotent: repeating the call with the same id has no further effect. Default:
   * a generated id for a rerun, none for an edit.
   */
  readonly requestId?: string | undefined;
  /**
   * Set to true if the run's account has a new key, or the service has a new address. Accepted only if the service can
   * find one of the run's jobs, or if the run never sent anything; otherwise the call throws
   * {@link InvalidOptionError}. Default false: a run with another key or address is refused.
   */
  readonly accountMoved?: boolean | undefined;
  /**
   * Set to true if no person requested this call, for example when a worker resumes a run. In that case, an earlier
   * stop still applies, unless a decision was sent after it. Default false: the call overrides every earlier stop.
   */
  readonly unattended?: boolean | undefined;
  /** How long to wait and retry if the wallet lacks funds, in milliseconds. Default 0. */
  readonly waitForFundsMs?: number | undefined;
}

export function checkRunId(id: string): void {
  if (isRunId(id)) return;
  const message = `${JSON.stringify(id)} is not a valid run id; use up to 100 letters, digits, ".", "_" and "-", and avoid names that an operating system reserves.`;
  const wanted = id
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+|-+$/g, "")
    .slice(0, 100);
  const suggestion = wanted === "" ? "" : safeFileName(wanted).replace(/^_/, "run-");
  throw new InvalidOptionError("id", message, suggestion === "" ? null : `use another id, such as ${suggestion}`);
}

export function checkOpenOptions({ leaseMs, idempotencyWindowMs, follow }: OpenOptions): void {
  checkWhole("leaseMs", leaseMs, { least: SHORTEST_LEASE_MS, most: LONGEST_LEASE_MS });
  checkWhole("idempotencyWindowMs", idempotencyWindowMs, { least: 1 });
  checkOneOf("follow", follow, ["auto", "stream", "poll"]);
}

export function checkWaits(options: Pick<ResumeOptions, "giveUpAfterMs" | "waitForCapMs" | "waitForFundsMs">): void {
  for (const option of ["giveUpAfterMs", "waitForCapMs", "waitForFundsMs"] as const)
    checkDuration(option, options[option]);
}

export function checkDuration(option: string, value: unknown): void {
  if (value === undefined || (typeof value === "number" && value >= 0)) return;
  const advice = "use a number of milliseconds (0 or more), or Infinity";
  throw new InvalidOptionError(option, `${valueText(value)} is not valid; ${advice}.`);
}

interface Bounds {
  readonly least: number;
  readonly most?: number;
}

export function checkWhole(option: string, value: unknown, { least, most = Number.MAX_SAFE_INTEGER }: Bounds): void {
  if (value === undefined) return;
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new InvalidOptionError(option, `${valueText(value)} is not valid; use a whole number ${range}.`);
}

export function checkOneOf(option: string, value: unknown, known: readonly string[]): void {
  if (value === undefined || known.includes(value as string)) return;
  throw new InvalidOptionError(option, `${valueText(value)} is not valid; use ${known.join(", ")}.`);
}

export function textOption(option: string, value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : checkText(option, value);
}

export function checkText(option: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw new InvalidOptionError(option, `${valueText(value)} is not text; pass a string.`);
}

export function usdOption(option: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const micros = parseUsd(text);
  if (micros === null) {
    throw new InvalidOptionError(
      option,
      `${valueText(text)} is not an amount in dollars; use a string such as "5" or "0.25".`,
    );
  }
  return micros;
}

export interface ApproveDecision {
  /**
   * The chosen result, if the step offers a choice: its position, counted from 0, or the step that produced it, such as
   * `look/2` for the second take of `look`.
   */
  readonly pick?: number | string | undefined;
  /** The reason for the decision, stored in the journal. */
  readonly note?: string | undefined;
  /**
   * A value that later steps use instead of the value shown: for a chat, text or JSON that fits the chat's schema; for
   * a task, a value of the same type. Default: the value shown.
   */
  readonly value?: Json | undefined;
  /** The person who makes the decision. Default: unspecified. */
  readonly by?: Decider | undefined;
}

export type RejectDecision = Pick<ApproveDecision, "note" | "by">;

/** A comment on a step that is waiting for a decision. */
export interface NewComment {
  /** The comment. Truncated to 2,000 characters. */
  readonly text: string;
  /** The output that the comment is about. Default: everything shown. */
  readonly take?: Chosen | null | undefined;
  /** The position in the video or sound, in milliseconds, from 0. Default: none. */
  readonly timeMs?: number | null | undefined;
  /** Who made the comment. Default: unspecified. */
  readonly by?: Decider | undefined;
}

/** A person who decides on a step. */
export interface Decider {
  /** The person's name, truncated to 100 characters. */
  readonly name: string;
  /** True if your program has verified the name. Default false. */
  readonly verified?: boolean | undefined;
  /** The id of the review link that the person used. */
  readonly link?: string | undefined;
}

/** Selects the runs whose open decisions are listed. */
export interface WaitingQuery extends RunsQuery {
  readonly pipeline?: string | undefined;
}

const DEFAULT_LIMIT = 8;
const MODALITIES = new Set(["image", "video", "audio", "chat", "task"]);
export function checkLimits(limits: JobLimits, { steps }: Plan): void {
  const named = Object.keys(limits.perModel);
  if (named.length === 0) return;
  const models = new Set(
    steps.flatMap((step) => {
      return [...("model" in step ? [step.model] : []), ...("provider" in step ? [step.provider] : [])];
    }),
  );
  const mayGrow = expansionsIn(steps).size > 0;
  for (const name of named) {
    if (models.has(name)) continue;
    const suggestion = didYouMean(name, ["total", ...MODALITIES, ...models]);
    // The jobs of an expansion are not known yet.
    if (mayGrow && suggestion === null) continue;
    const known = `use total, ${[...MODALITIES].join(", ")}, or a model or provider in the plan`;
    throw new InvalidOptionError(
      "concurrency",
      `${name} matches no job in this plan; ${suggestion ?? `${known}: ${[...models].join(", ")}`}`,
    );
  }
}

export function limitsOf(concurrency: RunOptions["concurrency"]): JobLimits {
  const given = typeof concurrency === "number" ? { total: concurrency } : (concurrency ?? {});
  const perModel: Record<string, number> = Object.create(null);
  const perModality: Record<string, number> = {};
  for (const [name, limit] of Object.entries(given)) {
    if (limit === undefined) continue;
    if (!Number.isSafeInteger(limit) || limit < 1) {
      throw new InvalidOptionError(
        `concurrency.${name}`,
        `${limit} is not a valid number of jobs; use a whole number of at least 1.`,
      );
    }
    if (MODALITIES.has(name)) perModality[name] = limit;
    else if (name !== "total") perModel[name] = limit;
  }
  return { total: given.total ?? DEFAULT_LIMIT, perModel, perModality };
}

export interface InputDoor {
  readonly filesFrom: readonly string[] | null;
  readonly inside: readonly string[];
}

export function inputDoor({ inside = [], filesDir }: OpenOptions): InputDoor {
  const origins = inside.map((text) => {
    const origin = webOrigin(text);
    if (origin !== null) return origin;
    throw new InvalidOptionError(
      "inside",
      `${JSON.stringify(text)} is not an origin; write it like http://assets.corp:8080, without a path.`,
    );
  });
  return { inside: origins, filesFrom: filesDir === undefined ? null : [resolve(filesDir)] };
}

/** How queued requests or functions take turns. */
export interface TurnsOption {
  /** The tag that groups runs. All runs with the same value form one group, and so do all runs without the tag. */
  readonly tag: string;
  /** Relative number of turns of each group, by tag value, from 0.01 to 100, such as `{ acme: 3 }`. Default 1. */
  readonly weights?: Readonly<Record<string, number>> | undefined;
}

export function checkTurns(turns: TurnsOption | undefined): void {
  if (turns === undefined) return;
  const { tag, weights = {} } = turns;
  checkTags({ [tag]: "x" }, "turns");
  for (const [value, weight] of Object.entries(weights)) {
    checkTags({ [tag]: value }, "turns");
    if (weight >= 0.01 && weight <= 100) continue;
    throw new InvalidOptionError(
      "turns",
      `the weight ${weight} of ${tag}=${value} is not valid; use a number from 0.01 to 100.`,
    );
  }
}

export function turnOf(run: string, tags: Tags, turns: TurnsOption | undefined): Turn {
  if (turns === undefined) return { share: `run ${run}`, run };
  const value = Object.hasOwn(tags, turns.tag) ? tags[turns.tag]! : null;
  const weights = turns.weights ?? {};
  const weight = value !== null && Object.hasOwn(weights, value) ? weights[value] : 1;
  return { share: value === null ? "untagged" : `${turns.tag}=${value}`, weight, run };
}
