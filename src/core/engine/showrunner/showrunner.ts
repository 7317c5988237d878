import type { z } from "zod";
import type { Client } from "../../api/index.ts";
import type { Pipeline, Returns } from "../../define/index.ts";
import type { DeliveryOutcome } from "../../journal/deliveries.ts";
import type { StoredEvent } from "../../journal/events.ts";
import type { RunsQuery } from "../../journal/search.ts";
import type { JournalStore, RunRow } from "../../journal/store.ts";
import type { Plan, PlanStep, Problem } from "../../plan/plan.ts";
import type { RunReport } from "../../run/view/report.ts";
import type { ReconcileOptions, ReconcileReport } from "../adoption/reconcile.ts";
import type { AdoptionCandidate, UnresolvedStep } from "../adoption/unresolved.ts";
import type { Comparison } from "../change/compare.ts";
import type { Drift, DriftOptions, RerunQuote } from "../change/drift.ts";
import type { Redo } from "../change/redo.ts";
import type { RunHandle, RunHandleOf } from "../drive/run-result.ts";
import type { InvalidOptionError, Offer } from "../errors.ts";
import type { GcOptions, GcReport } from "../media/gc.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { SpendingTotals } from "../money/spending.ts";
import type { Notifications } from "../notify/notifications.ts";
import type {
  ApproveDecision,
  CompareOptions,
  NewComment,
  PlanOptions,
  QuoteOptions,
  RejectDecision,
  ResumeOptions,
  RunOptions,
  WaitingDecision,
  WaitingQuery,
} from "../options/options.ts";
import type { Quote } from "../price/quote.ts";
import type { LocalWork, Slice, SliceOptions } from "../slice/run-slices.ts";

/** The methods that engines call to drive runs in slices, and that webhook receivers call. */
export interface EnginePort {
  /**
   * Drives one slice of a run: takes the run, does everything that is due, commits it, and returns when to call again.
   * Between slices the run exists only in the journal. Calling it too early or too often does no harm.
   */
  slice(runId: string, options?: SliceOptions): Promise<Slice>;
  /**
   * Reports a verified webhook: a job ended. The job's run then reads the job at once instead of when its poll is due,
   * whichever process drives the run. If no run knows the job yet, this happens as soon as a run does. Repeated calls
   * with the same id count once.
   */
  hint(delivery: { readonly id: string; readonly jobId: string }): Promise<DeliveryOutcome>;
  /**
   * Returns the ids of this account's runs whose wake-up was lost: an engine should have continued them at least
   * `lateMs` milliseconds ago (default 0).
   */
  dueRuns(options?: { readonly lateMs?: number; readonly limit?: number }): Promise<readonly string[]>;
  /**
   * Performs work that a slice delegated, and reports the result to the run. Rejects if the work must be tried again.
   */
  work(work: LocalWork, options?: Pick<SliceOptions, "findPipeline" | "signal">): Promise<void>;
}

/** Runs in one journal, with one key for one service. */
export interface Showrunner {
  /** The journal; use it for anything this interface has no method for. */
  readonly journal: JournalStore;
  /** The files of outputs and uploads, by content hash. */
  readonly media: MediaStore;
  /** The client that sends all requests; use it for anything this interface has no method for. */
  readonly client: Client;
  /** The service that jobs are sent to. */
  readonly service: {
    readonly kind: "hosted" | "local";
    readonly baseUrl: string;
    /** Why there is no key, if the service was opened without one (`keyOptional`). */
    readonly missingKey: InvalidOptionError | null;
  };
  /**
   * The notifications for runs that this process drives. After `start`, notifications that other processes left in the
   * journal's outbox are delivered too.
   */
  readonly notifications: Notifications & { start(): void };
  /** Plans the pipeline and returns the plan, or all its problems. Reads the catalog and sends nothing else. */
  plan<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options?: PlanOptions,
  ): Promise<
    { readonly ok: true; readonly plan: Plan } | { readonly ok: false; readonly problems: readonly Problem[] }
  >;
  /**
   * Plans and prices the pipeline. The quote's id can be passed to `run`, which then starts exactly this plan. Spends
   * nothing.
   */
  quote<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options?: QuoteOptions,
  ): Promise<Quote>;
  /**
   * Compares the plan with an earlier run: which results that run cannot provide, why, and what they cost. Spends
   * nothing.
   */
  compare<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options: CompareOptions,
  ): Promise<Comparison>;
  /**
   * Plans and prices the pipeline, then drives the run in this process. Throws {@link PlanProblemsError} with all
   * problems at once, {@link OverBudgetError} if the quote exceeds `budget`, and {@link QuoteRefusedError} if `quote`
   * does not fit; in these cases nothing is submitted. `await` returns a handle once the run has started; the handle's
   * `result()` settles when the run ends or pauses.
   */
  run<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options?: RunOptions,
  ): Promise<RunHandleOf<R>>;
  /**
   * Continues a run where its journal ends: after a crash, a stop or a pause, or with changes. With `pipeline`, the
   * handle has the same type as the handle from `run`. For a run that this process drives, it returns the same handle,
   * and changes are applied once the run is at rest. Throws {@link RunBusyError} while another process drives the run,
   * and {@link AccountMismatchError} for another account's run.
   */
  resume<S extends z.ZodType, R extends Returns>(
    runId: string,
    options: ResumeOptions & { readonly pipeline: Pipeline<S, R> },
  ): Promise<RunHandleOf<R>>;
  /** Continues a run where its journal ends, with results of unknown type. */
  resume(runId: string, options?: ResumeOptions): Promise<RunHandle>;
  /**
   * Returns a handle for any run, including one that another process drives; if this process drives the run, it is the
   * handle that `run` or `resume` returned. The handle drives nothing: `result()` settles when the run is at rest, and
   * `pipeline` only sets the result's type. Throws {@link RunUnknownError}.
   */
  follow<S extends z.ZodType, R extends Returns>(
    runId: string,
    options: { readonly pipeline: Pipeline<S, R> },
  ): Promise<RunHandleOf<R>>;
  /** Returns a handle for any run, with results of unknown type. */
  follow(runId: string): Promise<RunHandle>;
  /** The methods for `startWorker` and webhook receivers. */
  readonly engine: EnginePort;
  /**
   * Like {@link run}, but for an engine: plans, prices and stores the run, but does not drive it. Then wake the engine
   * with the returned id.
   */
  start<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options?: RunOptions,
  ): Promise<{ readonly id: string }>;
  /**
   * Compares the run's plan with what the current code plans: for the same input, for an input with corrected fields,
   * or with edited step inputs. Returns which steps are unchanged, changed, new, removed or renamed, which steps run
   * again (including those in `rerun`), and the price. Pass its quote to `resume` with the same options and
   * `acceptChanges`. Spends nothing and changes nothing.
   */
  drift(runId: string, pipeline: Pipeline, options?: DriftOptions): Promise<Drift & Offer>;
  /**
   * Applies a person's note to a step, or to what an approval shows: each step's `revise` returns what the note changes
   * in its input; steps without `revise` are rerun. Pass the result to {@link drift} or {@link rerunQuote} for the
   * price, and to `resume` to apply it. The result is empty while any of these steps is in progress. Spends nothing and
   * changes nothing.
   */
  redo(runId: string, step: string, note: string, pipeline?: Pipeline): Promise<Redo>;
  /**
   * Returns what `resume` with `rerun: steps` (and `rerunFailed`) would make again without code changes, and the price.
   * With the `pipeline` passed to `resume`, it includes expansions whose function was corrected. Spends nothing and
   * changes nothing.
   */
  rerunQuote(
    runId: string,
    steps: readonly string[],
    options?: Pick<ResumeOptions, "requestId" | "rerunFailed" | "pipeline" | "compare">,
  ): Promise<RerunQuote & Offer>;
  /**
   * Returns how long the step is expected to take, in milliseconds, based on its model's earlier jobs; null until the
   * model has finished a job. Uses the durations that `quote`, `run` and `resume` have read for their plans.
   */
  expectedMs(step: PlanStep): number | null;
  /**
   * Lists all runs, or those that match the query, newest first. A run that should be running but that no process
   * drives has the status `interrupted`.
   */
  runs(query?: RunsQuery): Promise<readonly RunRow[]>;
  /**
   * Lists this account's runs that can be resumed and that no process drives: interrupted runs, and runs at rest whose
   * inbox contains a decision with no later stop.
   */
  due(): Promise<readonly RunRow[]>;
  /**
   * Returns a run's report from the journal. A run that should be running but that no process drives has the status
   * `interrupted`.
   */
  show(runId: string): Promise<RunReport>;
  /** Reads the run's events from the journal, after `afterSeq` (default 0). With `follow`, continues until the run ends. */
  events(
    runId: string,
    options?: { readonly follow?: boolean; readonly afterSeq?: number; readonly signal?: AbortSignal },
  ): AsyncIterable<StoredEvent>;
  /**
   * Asks the process that drives the run to stop it. The request applies once: a run at rest continues with the next
   * decision or `resume`. `reason`: shown to people.
   */
  stop(runId: string, options?: { readonly reason?: string }): Promise<void>;
  /**
   * Lists a run's steps whose submits were never answered, each with the jobs that the step may have created. To find
   * them, reads all jobs of the steps' models that were created while the submits were sent and that belong to no run
   * in this journal.
   */
  unresolved(runId: string): Promise<readonly UnresolvedStep[]>;
  /** Lists the jobs that an unanswered step may have created, likeliest first. A person decides with `adopt`. */
  candidates(runId: string, step: string): Promise<readonly AdoptionCandidate[]>;
  /**
   * Approves a step that waits for a decision. Takes effect at once if a process drives the run, otherwise when the run
   * is resumed. Throws {@link InvalidOptionError} if the step is not waiting for a decision, or `pick` does not match
   * anything that it shows.
   */
  approve(runId: string, step: string, options?: ApproveDecision): Promise<void>;
  /** Rejects a step that waits for a decision: it fails, and the steps that use it are skipped. */
  reject(runId: string, step: string, options?: RejectDecision): Promise<void>;
  /**
   * Adds a comment to a step that waits for a decision, without deciding. The comment is written to the journal once a
   * process drives the run.
   */
  comment(runId: string, step: string, comment: NewComment): Promise<void>;
  /** Lists the steps that wait for a person in the runs that match the query, longest wait first. */
  waiting(query?: WaitingQuery): Promise<readonly WaitingDecision[]>;
  /**
   * States which job an unresolved step created, or null if it created no job. For a request to a provider, pass the
   * path of the file that it produced, or null. Takes effect when the run is resumed.
   */
  adopt(runId: string, step: string, jobId: string | null): Promise<void>;
  /**
   * Compares the journal, the ledger and the service's list of jobs, for one run or for all of this account's runs.
   * Reports differences and changes nothing.
   */
  reconcile(runId?: string, options?: ReconcileOptions): Promise<ReconcileReport>;
  /**
   * Removes old finished runs, then the stored media that no run refers to any more. Keeps runs for which money is
   * still held, and the files in runs' own folders.
   */
  gc(options?: GcOptions): Promise<GcReport>;
  /**
   * Returns what all of this account's runs in this journal, or only those with the tag `key=value`, have spent and
   * reserved, and the limits that apply here. `account`: another account, as in the rows of {@link runs}.
   */
  spending(of?: { readonly tag?: string | undefined; readonly account?: string | undefined }): Promise<SpendingTotals>;
  /** Reads the wallet's balance. */
  balance(): Promise<{ readonly balanceMicros: number; readonly currency: string }>;
  /** Counts the API requests sent since this Showrunner was opened. */
  requests(): { readonly total: number };
  /**
   * Gracefully stops the runs that this process drives, delivers pending notifications, then closes the journal, the
   * client and the embedded service.
   */
  close(): Promise<void>;
}
