import { type Clock, safeFileName } from "../../api/index.ts";
import type { Pipeline, ProfileFields } from "../../define/index.ts";
import type { Chosen } from "../../journal/events.ts";
import type { RunsQuery } from "../../journal/search.ts";
import type { JournalStore, RunRow } from "../../journal/store.ts";
import { DAY_MS } from "../../kit/duration.ts";
import { parseUsd } from "../../kit/money.ts";
import { expansionsIn, type JobLimits } from "../../plan/index.ts";
import type { Json, Plan } from "../../plan/plan.ts";
import { didYouMean } from "../../plan/suggest.ts";
import type { OpenDecision } from "../../run/decisions.ts";
import { InvalidOptionError } from "../errors.ts";
import type { NotifyOptions } from "../notify/notifications.ts";
import type { ServiceOptions } from "../service/embedded-service.ts";
import type { Substitute } from "../service/rehearsal.ts";
import type { TurnsOption } from "./tags.ts";

/** How long a frozen holder keeps a run, milliseconds. */
export const DEFAULT_LEASE_MS = 30_000;
/** How long an unanswered submit is sent again under its key, milliseconds. */
export const DEFAULT_IDEMPOTENCY_WINDOW_MS = DAY_MS;

/** A cap over runs of the account on one journal. */
export interface CapOption {
  /** A decimal of US dollars. */
  readonly usd: string;
  /** `day`: anew with each day of {@link OpenOptions.capTimeZone}. Default: over all time. */
  readonly per?: "day" | undefined;
  /** Counts the runs that carry it, such as `team=video`; `team=*`: those of each team by themselves. Default: every run. */
  readonly tag?: string | undefined;
}

export interface OpenOptions extends ServiceOptions, NotifyOptions {
  /**
   * Origins in your own network or on this machine, such as `http://assets.corp:8080`, that inputs may name URLs of.
   * Default: none; URLs in inputs must lead to the public internet or to the service itself.
   */
  readonly inside?: readonly string[] | undefined;
  /** Folder that uploaded files must be in, links resolved. Default: any folder. */
  readonly filesDir?: string | undefined;
  /** Journal file, `postgres://` URL, or a store. Default: environment SHOWRUNNER_JOURNAL, else `.showrunner/journal.db`. */
  readonly journal?: string | JournalStore | undefined;
  /**
   * Where media are stored: a shared folder or a bucket, `s3://bucket/prefix`; see docs/shared-media.md. Default:
   * environment SHOWRUNNER_MEDIA, else `mediaDir`.
   */
  readonly media?: string | undefined;
  /**
   * Folder of downloaded bytes on this machine, by content hash; with a bucket, of copies. Default: `media` beside the
   * journal, or in `.showrunner`.
   */
  readonly mediaDir?: string | undefined;
  /**
   * What `generate` steps ask: `call`, the models that they name; or a function that says what to ask in place of each.
   * Default: with the embedded local service nobody is called, and that service draws, films and speaks instead; else `call`.
   */
  readonly providers?: "call" | Substitute | undefined;
  /** How jobs are followed. Default `auto`. */
  readonly follow?: "auto" | "stream" | "poll" | undefined;
  /** Source of time. Default: the machine's clock. */
  readonly clock?: Clock | undefined;
  /**
   * How long a suspended process keeps its run, milliseconds. Default 30 000, at most an hour. A dead process is replaced
   * at once.
   */
  readonly leaseMs?: number | undefined;
  /**
   * Between whom API requests take turns in this process, so that a large run does not block small ones. Default: between
   * runs.
   */
  readonly turns?: TurnsOption | undefined;
  /** An unanswered submit older than this is not sent again, milliseconds. Default 24 h. */
  readonly idempotencyWindowMs?: number | undefined;
  /**
   * The most that all runs of this account on this journal may have spent and reserved together, a decimal of US dollars.
   * It holds across processes. A submit that would exceed it is not sent: its run pauses (`budget`). Runs that `gc`
   * removed no longer count. Default: environment SHOWRUNNER_SPENDING_CAP, else none.
   */
  readonly spendingCap?: string | undefined;
  /**
   * Further caps, each over the runs of a tag, a day, or both. A hold counts for the day on which it is made. A run that
   * reaches a daily cap pauses (`cap`); see `waitForCapMs`. As text: `team=video:10/day`. Caps in SHOWRUNNER_CAPS apply
   * too, unless one given here is for the same runs and period.
   */
  readonly caps?: readonly (CapOption | string)[] | undefined;
  /** Time zone of the caps' days, an IANA name. Default: environment SHOWRUNNER_CAP_TIME_ZONE, else UTC. */
  readonly capTimeZone?: string | undefined;
  /**
   * What the wallet must keep, a decimal of US dollars. A submit that could bring it below is not sent: its run pauses
   * (`funds`). Needs a key that may read the balance. Default: environment SHOWRUNNER_WALLET_FLOOR, else none.
   */
  readonly walletFloor?: string | undefined;
}

/** Options of whatever drives a run. */
interface DriveOptions {
  /** Aborting stops gracefully: no new submits, those in flight are settled. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The file that the pipeline comes from, to load its code again. Without it workers cannot run the functions of a run
   * that `start` hands to an engine.
   */
  readonly source?: { readonly file: string; readonly exportName: string } | undefined;
  /**
   * How long an unavailable service is waited for, milliseconds; then the run pauses (`unreachable`, `misdirected`).
   * Infinity: forever. Default 300 000.
   */
  readonly giveUpAfterMs?: number | undefined;
  /**
   * How long to wait in total when a daily cap is reached, milliseconds. Default 0: the run pauses (`cap`) and continues
   * when it is resumed, for example by a worker.
   */
  readonly waitForCapMs?: number | undefined;
}

export interface RunOptions extends DriveOptions {
  /**
   * What to do when a run of this `id` exists. `resume`: continue it if plan and input are identical (if another process
   * drives it, follow it), else throw {@link RunDiffersError}. `fail`: throw {@link RunExistsError}. Default `resume`.
   */
  readonly onExisting?: "resume" | "fail" | undefined;
  /** Names the run; letters, digits, `.`, `_` and `-`. Default: generated. */
  readonly id?: string | undefined;
  /** What people call the run, one line of up to 120 characters. Default: what its pipeline's `title` makes of the input, else its id. */
  readonly title?: string | undefined;
  /**
   * Labels such as `{ team: "video" }`, by which runs are listed and capped. Up to 8; keys of letters, digits, `.`, `_`
   * and `-`, values of up to 80 printable characters.
   */
  readonly tags?: { readonly [key: string]: string } | undefined;
  /** The most that the run may cost, a decimal of US dollars. Default: no cap. */
  readonly budget?: string | undefined;
  /**
   * The quote that somebody agreed to, by its id: the run starts only if it is still that plan at no more than its maximum, which is
   * then the most that the run may cost. Throws {@link QuoteRefusedError} otherwise. Default: none.
   */
  readonly quote?: string | undefined;
  /** For a run that is there: see {@link ResumeOptions.agree}. */
  readonly agree?: string | undefined;
  /** A tag of the run, as `key=value`: its budget is the most that all runs with that tag may cost together. Default: none. */
  readonly budgetTag?: string | undefined;
  /** Jobs at once: in all (default 8), or by `total`, model id, provider (`fal`) and modality. */
  readonly concurrency?: number | { readonly [name: string]: number | undefined } | undefined;
  /** Starts even if the wallet holds less than the least that the plan costs. Default false. */
  readonly startAnyway?: boolean | undefined;
  /** The most that one job without a quote may cost, a decimal of US dollars. */
  readonly maxUnquoted?: string | undefined;
  /** What uploads of this run may read, now and whenever it is planned again; see {@link PlanOptions.filesFrom}. */
  readonly filesFrom?: PlanOptions["filesFrom"];
  /** Folder of the named files. Default `out/<run id>`. */
  readonly outDir?: string | undefined;
  /** Name of one of the pipeline's profiles, such as `draft`. Default: none, the pipeline as it is written. */
  readonly profile?: string | undefined;
  /** Reuses results of earlier runs of this account in this journal with identical requests, at no cost. Default false. */
  readonly reuse?: boolean | undefined;
  /** Whether each named file gets a manifest beside it, `<file>.json`. Default true. */
  readonly manifests?: boolean | undefined;
  /**
   * Puts IPTC's digital source type into each named file, as XMP; see docs/marks.md. One that has such a mark, or is signed,
   * stays as it is; the manifest says what was done. Default false: named files are the service's byte for byte.
   */
  readonly marks?: boolean | undefined;
}

export interface PlanOptions {
  /** Name of one of the pipeline's profiles. Default: none. */
  readonly profile?: string | undefined;
  /**
   * Files and folders that uploads may read, links resolved, in place of `filesDir` of `openShowrunner`. The run keeps it: what is planned
   * for it later reads nothing else either. Default: `filesDir`.
   */
  readonly filesFrom?: readonly string[] | undefined;
}

export interface QuoteOptions extends PlanOptions {
  /** The most that the run may cost, a decimal of US dollars; shown beside price and wallet. Default: none. */
  readonly budget?: string | undefined;
  /** The most that one job without a quote may cost, a decimal of US dollars. */
  readonly maxUnquoted?: string | undefined;
  /** Prices reusable results of earlier runs at zero; see {@link RunOptions.reuse}. Default false. */
  readonly reuse?: boolean | undefined;
  /** Whether it is kept, so that a run can be started with it. Default true. */
  readonly keep?: boolean | undefined;
  /** Jobs at once that the forecast assumes; see {@link RunOptions.concurrency}. Default 8. */
  readonly concurrency?: RunOptions["concurrency"];
}

export interface CompareOptions extends QuoteOptions {
  /** Id of the run to compare with. */
  readonly against: string;
}

export interface ResumeOptions extends DriveOptions {
  /**
   * The quote of `drift` or `rerunQuote` that somebody agreed to, by its id: what is to be made again is made only if it is still
   * that, at no more than its maximum. Throws {@link QuoteRefusedError} otherwise. Default: none.
   */
  readonly quote?: string | undefined;
  /**
   * The most that the run may cost by itself, a decimal of US dollars: agrees to prices that it paused for because they were not
   * known before. For a run without a shared budget, `budget` does the same.
   */
  readonly agree?: string | undefined;
  /** A new budget, decimal of US dollars, in place of the run's own. */
  readonly budget?: string | undefined;
  /** Likewise for the most that one job without a quote may cost. */
  readonly maxUnquoted?: string | undefined;
  /**
   * The code of the run, needed for its local functions. If it differs from the run's plan, the run stays paused
   * (`drift`) unless `acceptChanges` is set.
   */
  readonly pipeline?: Pipeline | undefined;
  /** False: `pipeline` only supplies functions, and the run continues as planned. Default true. */
  readonly compare?: boolean | undefined;
  /** Applies the changes of `pipeline`: changed and new steps, and all that use them, run again. Default false. */
  readonly acceptChanges?: boolean | undefined;
  /**
   * Fields that replace those of the run's input, such as `{ voice: "iris" }`; objects are merged. Needs `pipeline`;
   * compared, priced and accepted like changed code.
   */
  readonly input?: { readonly [field: string]: unknown } | undefined;
  /**
   * Fields that replace those of jobs and chats of this run, by step path: `{ still: { prompt: "A red boat" } }`; `undefined`
   * leaves a field out. They hold from then on, over what the code says. Needs `pipeline`; compared, priced and accepted
   * like changed code.
   */
  readonly edit?: { readonly [step: string]: ProfileFields } | undefined;
  /**
   * Whether a text that `edit` replaces is replaced in all other steps too. Default: undecided; refused where a local function
   * would keep it.
   */
  readonly everywhere?: boolean | undefined;
  /** Why, for the journal: stored with `edit` or `rerun`. */
  readonly note?: string | undefined;
  /** Reruns the steps that failed, completely or in part, with all that depend on them. Default false. See `rerun`. */
  readonly rerunFailed?: boolean | undefined;
  /**
   * Paths of steps to rerun, with all that use them; of finished runs too. `*` matches any characters and selects
   * finished steps: `SKU-*.still`. A step whose rerun is in progress is not rerun once more. See {@link
   * Showrunner.rerunQuote}.
   */
  readonly rerun?: readonly string[] | undefined;
  /** Reruns even what would be asked for exactly as before, as its author gave the seed. Default false: refused. */
  readonly sameSeed?: boolean | undefined;
  /**
   * Idempotency id of this rerun request: a call with the same id never reruns the steps again; another id does, even
   * while the first is in progress. Default: generated.
   */
  readonly requestId?: string | undefined;
  /**
   * The run's account has another key, or its service another address. Accepted only if a job of the run is found there,
   * or if nothing of it was ever sent; else throws {@link InvalidOptionError}. Default false: such a run is refused.
   */
  readonly accountMoved?: boolean | undefined;
  /**
   * No person requested it just now, as when a worker resumes a run: a pending stop still applies, unless a decision was
   * sent after it. Default false: this call supersedes every earlier stop.
   */
  readonly unattended?: boolean | undefined;
  /** How long to wait and retry while the wallet is short, milliseconds. Default 0. */
  readonly waitForFundsMs?: number | undefined;
}

const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** Whether a run can have this id. Files and folders are named after it, on systems that keep `con` for a device and drop dots at the end. */
export function isRunId(id: string): boolean {
  return RUN_ID.test(id) && safeFileName(id) === id;
}

export function checkRunId(id: string): void {
  if (isRunId(id)) return;
  const message = `${JSON.stringify(id)} is no run id; use up to 100 letters, digits, ".", "_" and "-", and no name that a system keeps for itself.`;
  const wanted = id
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+|-+$/g, "")
    .slice(0, 100);
  const suggestion = wanted === "" ? "" : safeFileName(wanted).replace(/^_/, "run-");
  throw new InvalidOptionError("id", message, suggestion === "" ? null : `use another id, such as ${suggestion}`);
}

/** Micro-dollars of a decimal; null when there is none. */
export function usdOption(option: string, text: string | undefined): number | null {
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

export interface ApproveDecision {
  /**
   * Which one, where the step asks for a choice: its position among those shown, from 0 (people count from 1: the command
   * line, the dashboard), or the step that produced it, such as `look/2` of the takes `look`.
   */
  readonly pick?: number | string | undefined;
  /** Why, for whoever reads the run later. */
  readonly note?: string | undefined;
  /**
   * What is approved in place of the value that the step shows, for all that uses it: a text, or JSON that meets the schema of the
   * chat that made it. What a task made keeps its type. Default: what it shows.
   */
  readonly value?: Json | undefined;
  /** Who decides, where it is somebody whom your program knows or asked for a name. Default: not said. */
  readonly by?: Decider | undefined;
}

export type RejectDecision = Pick<ApproveDecision, "note" | "by">;

/** What somebody says of what waits for a decision. */
export interface NewComment {
  /** At most 2,000 characters are kept. */
  readonly text: string;
  /** Of what it is said, as step and number of the output. Default: of all that is shown. */
  readonly take?: Chosen | null | undefined;
  /** Where in its video or sound. Default: nowhere in particular. */
  readonly timeMs?: number | null | undefined;
  /** Default: not said. */
  readonly by?: Decider | undefined;
}

/** Who decides on a step. */
export interface Decider {
  /** At most 100 characters are kept. */
  readonly name: string;
  /** Whether your program knows that the name is theirs. Default false. */
  readonly verified?: boolean | undefined;
  /** Id of the review link that they came by. */
  readonly link?: string | undefined;
}

/** Which runs' decisions are meant. */
export interface WaitingQuery extends RunsQuery {
  readonly pipeline?: string | undefined;
}

/** A decision that waits for a person, with its run. */
export interface WaitingDecision extends OpenDecision, Pick<RunRow, "runId" | "title" | "pipeline" | "tags"> {}

const DEFAULT_LIMIT = 8;
/** What a limit may name beside `total` and model ids; `task` are local functions. */
const MODALITIES = new Set(["image", "video", "audio", "chat", "task"]);
/** Throws for a limit that no job of the plan could meet, which is a name misspelt. */
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
    // What an expansion will ask for is not known yet.
    if (mayGrow && suggestion === null) continue;
    const known = `limits are named total, ${[...MODALITIES].join(", ")}, or a model or provider of the plan`;
    throw new InvalidOptionError(
      "concurrency",
      `${name} limits nothing here; ${suggestion ?? `${known}: ${[...models].join(", ")}`}`,
    );
  }
}

/** Limits of jobs at once, from a number or from limits by name. */
export function limitsOf(concurrency: RunOptions["concurrency"]): JobLimits {
  const given = typeof concurrency === "number" ? { total: concurrency } : (concurrency ?? {});
  const perModel: Record<string, number> = Object.create(null);
  const perModality: Record<string, number> = {};
  for (const [name, limit] of Object.entries(given)) {
    if (limit === undefined) continue;
    if (!Number.isSafeInteger(limit) || limit < 1) {
      throw new InvalidOptionError(`concurrency.${name}`, `${limit} is no number of jobs; use a whole number from 1.`);
    }
    if (MODALITIES.has(name)) perModality[name] = limit;
    else if (name !== "total") perModel[name] = limit;
  }
  return { total: given.total ?? DEFAULT_LIMIT, perModel, perModality };
}
