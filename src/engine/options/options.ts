import type { Clock } from "../../api/index.ts";
import type { Pipeline } from "../../define/index.ts";
import type { JournalStore } from "../../journal/store.ts";
import { parseUsd } from "../../money.ts";
import { expansionsIn, type JobLimits } from "../../plan/index.ts";
import type { Plan } from "../../plan/plan.ts";
import { didYouMean } from "../../plan/suggest.ts";
import { InvalidOptionError } from "../errors.ts";
import type { NotifyOptions } from "../notify/notifications.ts";
import type { ServiceOptions } from "../service/embedded-service.ts";
import type { TurnsOption } from "./turns.ts";

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
  /** Journal file, `postgres://` URL, or a store. Default: environment SHOWRUNNER_JOURNAL, else `.showrunner/journal.db`. */
  readonly journal?: string | JournalStore | undefined;
  /**
   * Where media are kept: a folder, which machines may share, or a bucket, `s3://bucket/prefix`; see docs/shared-media.md.
   * Default: environment SHOWRUNNER_MEDIA, else `mediaDir`.
   */
  readonly media?: string | undefined;
  /**
   * Folder of downloaded bytes on this machine, by content hash; with `media` a bucket, of copies of what is there.
   * Default: `media` beside the journal, or in `.showrunner`.
   */
  readonly mediaDir?: string | undefined;
  /** How jobs are followed. Default `auto`. */
  readonly follow?: "auto" | "stream" | "poll" | undefined;
  /** Where time comes from. Default: the machine's own clock. */
  readonly clock?: Clock | undefined;
  /** A frozen holder keeps a run this long, milliseconds. Default 30 000. A dead one is replaced at once. */
  readonly leaseMs?: number | undefined;
  /**
   * Divides the key's request limit between all processes on the journal that say so, so that together they never exceed
   * it; what one is told of it (a limit, Retry-After) holds for all. Costs one short write every two seconds in which
   * requests are sent. Default false: the limit is this process's alone.
   */
  readonly sharePace?: boolean | undefined;
  /**
   * Between whom turns go round where API requests wait for their turn in this process, so that a run of thousands of steps
   * keeps no small one waiting. Default: between runs.
   */
  readonly turns?: TurnsOption | undefined;
  /** An unanswered submit older than this is not sent again, milliseconds. Default 24 h. */
  readonly idempotencyWindowMs?: number | undefined;
  /**
   * The most that all runs of this account on this journal may have spent and reserved together, a decimal of US dollars;
   * checked in the transaction that reserves for a submit, so that it holds across processes. A submit that would
   * exceed it is not sent: its run pauses (`budget`). Runs that `gc` removed count no more. Default: environment
   * SHOWRUNNER_SPENDING_CAP, else none.
   */
  readonly spendingCap?: string | undefined;
  /**
   * Further caps, each over the runs of a tag, a day, or both; checked as `spendingCap` is. A hold counts for the day that it is
   * made on, also when it is charged after midnight. A run that meets the cap of a day pauses (`cap`) and goes on with the next
   * day, where it is driven; see `waitForCapMs`. Text as in `team=video:10/day`. Those of the environment hold too
   * (SHOWRUNNER_CAPS, such as `50/day,team=video:10/day`), unless one given here is for the same runs and time.
   */
  readonly caps?: readonly (CapOption | string)[] | undefined;
  /** Whose days they are: an IANA name. Default: environment SHOWRUNNER_CAP_TIME_ZONE, else UTC. */
  readonly capTimeZone?: string | undefined;
  /**
   * What the wallet must keep, a decimal of US dollars. A submit that could bring it below, with everything charged that
   * runs of this journal have reserved, is not sent: its run pauses (`funds`). Needs a key that may read the balance.
   * Default: environment SHOWRUNNER_WALLET_FLOOR, else none.
   */
  readonly walletFloor?: string | undefined;
}

/** Options of whatever drives a run. */
interface DriveOptions {
  /** Aborting stops gracefully: no new submits, those in flight are settled. */
  readonly signal?: AbortSignal | undefined;
  /** The file that the pipeline comes from, to load its code again. */
  readonly source?: { readonly file: string; readonly exportName: string } | undefined;
  /**
   * How long a service that cannot be reached, or something else in its place, is borne with, milliseconds: then the run
   * pauses (`unreachable`, `misdirected`) and can be resumed. Infinity: for ever. Default 300 000.
   */
  readonly giveUpAfterMs?: number | undefined;
  /**
   * Stay when the cap of a day is reached, and go on with the next one, for so long altogether, milliseconds. Default 0: the run
   * pauses (`cap`), and goes on when it is resumed after that, as by a worker.
   */
  readonly waitForCapMs?: number | undefined;
}

export interface RunOptions extends DriveOptions {
  /**
   * What to do when a run of this `id` exists. `resume`: continue it where plan and input are identical (one that
   * another process drives is followed, one that is over is only told), else throw {@link RunDiffersError}. `fail`: throw
   * {@link RunExistsError}. Default `resume`, so that a script that is run twice continues instead of paying twice.
   */
  readonly onExisting?: "resume" | "fail" | undefined;
  /** Names the run; letters, digits, `.`, `_` and `-`. Default: generated. */
  readonly id?: string | undefined;
  /**
   * Labels such as `{ team: "video" }`: runs are listed and capped by them. Up to 8; keys of letters, digits, `.`, `_` and `-`,
   * values of up to 80 printable characters.
   */
  readonly tags?: { readonly [key: string]: string } | undefined;
  /** The most that the run may cost, a decimal of US dollars. Default: no cap. */
  readonly budget?: string | undefined;
  /** Jobs at once: in all (default 8), or by `total`, model id and modality. */
  readonly concurrency?: number | { readonly [name: string]: number | undefined } | undefined;
  /** Starts although the wallet does not hold the least that the plan costs; the run pauses where it is short. Default false. */
  readonly startAnyway?: boolean | undefined;
  /** The most that one job without a quote may cost, a decimal of US dollars. */
  readonly maxUnquoted?: string | undefined;
  /** Folder of the named files. Default `out/<run id>`. */
  readonly outDir?: string | undefined;
  /** Name of one of the pipeline's profiles, such as `draft`. Default: none, the pipeline as it is written. */
  readonly profile?: string | undefined;
  /**
   * Reuses results of earlier runs of this account in this journal with identical requests, as long as they exist;
   * such a step costs nothing. Default false.
   */
  readonly reuse?: boolean | undefined;
  /** Whether each named file gets a manifest beside it, `<file>.json`, that says how it was produced. Default true. */
  readonly manifests?: boolean | undefined;
}

export interface PlanOptions {
  /** Name of one of the pipeline's profiles. Default: none. */
  readonly profile?: string | undefined;
}

export interface QuoteOptions extends PlanOptions {
  /** The most that the run may cost, a decimal of US dollars; told beside price and wallet. Default: none. */
  readonly budget?: string | undefined;
  /** The most that one job without a quote may cost, a decimal of US dollars. */
  readonly maxUnquoted?: string | undefined;
  /** Prices reusable results of earlier runs at zero; see {@link RunOptions.reuse}. Default false. */
  readonly reuse?: boolean | undefined;
  /** Jobs at once that the forecast reckons with; see {@link RunOptions.concurrency}. Default 8. */
  readonly concurrency?: RunOptions["concurrency"];
}

export interface CompareOptions extends QuoteOptions {
  /** Id of the run to compare with. */
  readonly against: string;
}

export interface ResumeOptions extends DriveOptions {
  /** A new budget, decimal of US dollars, in place of the run's own. */
  readonly budget?: string | undefined;
  /** Likewise for the most that one job without a quote may cost. */
  readonly maxUnquoted?: string | undefined;
  /**
   * The code of the run, for its local functions; needed when it has any that are still to be called. Where it asks for
   * something else than the run's plan, the run stays paused (`drift`) and spends nothing, unless `acceptChanges` is set.
   */
  readonly pipeline?: Pipeline | undefined;
  /** False: `pipeline` only supplies functions, and the run continues as planned. Default true. */
  readonly compare?: boolean | undefined;
  /** Applies the changes of `pipeline`: changed and new steps, and all that use them, run again. Default false. */
  readonly acceptChanges?: boolean | undefined;
  /**
   * Fields of the run's input in place of its own, such as `{ voice: "iris" }`; objects are merged field by field. Needs
   * `pipeline`, and is compared, priced and accepted as changed code is.
   */
  readonly input?: { readonly [field: string]: unknown } | undefined;
  /**
   * Reruns the steps that failed, wholly or in part, with all that waited for them. Default false. See `rerun`.
   */
  readonly rerunFailed?: boolean | undefined;
  /**
   * Paths of steps to rerun, with all that use them; of finished runs too. `*` in one matches any characters:
   * `SKU-*.still` selects those of them that have finished. See {@link Showrunner.rerunQuote}. A step
   * whose rerun is in progress (requested, and the run neither over nor waiting for a decision since) is not rerun once more.
   */
  readonly rerun?: readonly string[] | undefined;
  /**
   * Idempotency id of this rerun request: a call with the same id never reruns the steps again, however long ago the first
   * one finished, and one with another id does so even while the first is in progress. Default: generated.
   */
  readonly requestId?: string | undefined;
  /**
   * The run's account has another key, or its service another address. Only once a job of the run is found there, or
   * where nothing of it was ever sent; the journal then holds the new ones. Throws {@link InvalidOptionError} when it is
   * another account. Default false: such a run is refused.
   */
  readonly accountMoved?: boolean | undefined;
  /**
   * No person requested it just now, as when a worker resumes a run: a stop that no driver has read still stops the run,
   * unless a decision was sent after it. Default false: every stop sent before this call is outdated by it.
   */
  readonly unattended?: boolean | undefined;
  /** Stay and try again for so long while the wallet is short, milliseconds. Default 0. */
  readonly waitForFundsMs?: number | undefined;
}

export interface ApproveDecision {
  /**
   * Which one, where the step asks for a choice: its position among those shown, from 0 (people count from 1: the command
   * line, the dashboard), or the step that produced it, such as `look/2` of the takes `look`.
   */
  readonly pick?: number | string | undefined;
  /** Why, for whoever reads the run later. */
  readonly note?: string | undefined;
}

const DEFAULT_LIMIT = 8;
/** What a limit may name beside `total` and model ids; `task` are local functions. */
const MODALITIES = new Set(["image", "video", "audio", "chat", "task"]);
/** Throws for a limit that no job of the plan could meet, which is a name misspelt. */
export function checkLimits(limits: JobLimits, { steps }: Plan): void {
  const named = Object.keys(limits.perModel);
  if (named.length === 0) return;
  const models = new Set(steps.flatMap((step) => ("model" in step ? [step.model] : [])));
  const mayGrow = expansionsIn(steps).size > 0;
  for (const name of named) {
    if (models.has(name)) continue;
    const suggestion = didYouMean(name, ["total", ...MODALITIES, ...models]);
    // What an expansion will ask for is not known yet.
    if (mayGrow && suggestion === null) continue;
    const known = `limits are named total, ${[...MODALITIES].join(", ")}, or a model of the plan`;
    throw new InvalidOptionError(
      "concurrency",
      `${name} limits nothing here; ${suggestion ?? `${known}: ${[...models].join(", ")}`}`,
    );
  }
}

const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

export function checkRunId(id: string): void {
  if (RUN_ID.test(id)) return;
  const message = `${JSON.stringify(id)} is no run id; use up to 100 letters, digits, ".", "_" and "-".`;
  const suggestion = id
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+|-+$/g, "")
    .slice(0, 100);
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

/** Limits of jobs at once, from a number or from limits by name. */
export function limitsOf(concurrency: RunOptions["concurrency"]): JobLimits {
  const given = typeof concurrency === "number" ? { total: concurrency } : (concurrency ?? {});
  const perModel: Record<string, number> = {};
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
