import type { z } from "zod";
import type { Client } from "../../api/index.ts";
import type { Pipeline, Returns } from "../../define/index.ts";
import type { DeliveryOutcome } from "../../journal/deliveries.ts";
import type { StoredEvent } from "../../journal/events.ts";
import type { RunsQuery } from "../../journal/search.ts";
import type { JournalStore, RunRow } from "../../journal/store.ts";
import type { InvalidOptionError } from "../../kit/errors.ts";
import type { Plan, PlanStep, Problem } from "../../plan/plan.ts";
import type { WaitingDecision } from "../../run/decisions.ts";
import type { RunDocument } from "../../view/document-schema.ts";
import type { ReconcileOptions, ReconcileReport } from "../adoption/reconcile.ts";
import type { AdoptionCandidate, UnresolvedStep } from "../adoption/unresolved.ts";
import type { Comparison } from "../change/compare.ts";
import type { Drift, DriftOptions, RerunQuote } from "../change/drift.ts";
import type { Redo } from "../change/edits.ts";
import type { RunHandle, RunHandleOf } from "../drive/run-result.ts";
import type { Offer } from "../errors.ts";
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
  WaitingQuery,
} from "../options/options.ts";
import type { Quote } from "../price/quote.ts";
import type { LocalWork, Slice, SliceOptions } from "../slice/run-slices.ts";

/** Methods for engines, which execute runs in slices, and for webhook receivers. */
export interface EnginePort {
  /**
   * Executes one slice of a run: loads the run, does everything that is due, commits the results, and returns when to
   * call again. Between slices the run exists only in the journal. Calling too early or too often does no harm.
   */
  slice(runId: string, options?: SliceOptions): Promise<Slice>;
  /**
   * Reports a verified webhook that says a job has ended. The process that executes the job's run then fetches the
   * job's status without waiting for the next poll. If no run has recorded the job yet, the status is fetched as soon
   * as a run records it. Repeated calls with the same id have no effect.
   */
  hint(delivery: { readonly id: string; readonly jobId: string }): Promise<DeliveryOutcome>;
  /**
   * Returns ids of this account's runs that have been due for at least `lateMs` milliseconds (default 0), such as those
   * whose wake-up was lost.
   */
  dueRuns(options?: { readonly lateMs?: number; readonly limit?: number }): Promise<readonly string[]>;
  /** Performs work that a slice delegated, and reports the result to the run. If the call rejects, repeat it. */
  work(work: LocalWork, options?: Pick<SliceOptions, "findPipeline" | "signal">): Promise<void>;
}

/** Runs pipelines. All runs share one journal, one service and one key. */
export interface Showrunner {
  /** The journal. Use it for anything that this interface has no method for. */
  readonly journal: JournalStore;
  /** The files of outputs and uploads, stored by content hash. */
  readonly media: MediaStore;
  /** The client that sends all requests. Use it for anything that this interface has no method for. */
  readonly client: Client;
  /** The service to which jobs are submitted. */
  readonly service: {
    readonly kind: "hosted" | "local";
    readonly baseUrl: string;
    /** The error that calls throw if no API key is set; null if one is set. */
    readonly missingKey: InvalidOptionError | null;
  };
  /**
   * Notifications for the runs that this process executes. After `start`, this process also delivers those that other
   * processes left in the journal's outbox.
   */
  readonly notifications: Notifications & { start(): void };
  /** Plans the pipeline and returns the plan, or all its problems. Reads the catalog; sends no other requests. */
  plan<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options?: PlanOptions,
  ): Promise<
    { readonly ok: true; readonly plan: Plan } | { readonly ok: false; readonly problems: readonly Problem[] }
  >;
  /** Plans and prices the pipeline. Pass the quote's id to `run` to start exactly this plan. Spends nothing. */
  quote<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options?: QuoteOptions,
  ): Promise<Quote>;
  /**
   * Compares the pipeline's plan with an earlier run. Returns the steps that would have to run, each with a reason and
   * a price. Spends nothing.
   */
  compare<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options: CompareOptions,
  ): Promise<Comparison>;
  /**
   * Plans and prices the pipeline, then executes the run in this process. Throws {@link PlanProblemsError} with all
   * problems, {@link OverBudgetError} if the quote exceeds `budget`, and {@link QuoteRefusedError} if the given quote
   * cannot be used. In these cases nothing is submitted. Resolves to a handle once the run has started; the handle's
   * `result()` settles when the run ends or pauses.
   */
  run<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options?: RunOptions,
  ): Promise<RunHandleOf<R>>;
  /**
   * Continues a run from the state in its journal after a crash, a stop or a pause, and applies any requested changes.
   * With `pipeline`, the handle has the same type as the one from `run`. If this process is already executing the run,
   * returns the existing handle, and changes apply once the run has ended or paused. Throws {@link RunBusyError} while
   * another process is executing the run, and {@link AccountMismatchError} for a run of another account.
   */
  resume<S extends z.ZodType, R extends Returns>(
    runId: string,
    options: ResumeOptions & { readonly pipeline: Pipeline<S, R> },
  ): Promise<RunHandleOf<R>>;
  /** Continues a run where its journal ends. Without `pipeline`, the types of the results are unknown. */
  resume(runId: string, options?: ResumeOptions): Promise<RunHandle>;
  /**
   * Returns a handle for any run, even if another process is executing it. The handle follows the run without executing
   * it. Its `result()` settles when the run ends or pauses. `pipeline` is used only for the result's type. Throws
   * {@link RunUnknownError} if there is no such run.
   */
  follow<S extends z.ZodType, R extends Returns>(
    runId: string,
    options: { readonly pipeline: Pipeline<S, R> },
  ): Promise<RunHandleOf<R>>;
  /** Returns a handle for any run, with results of unknown type. */
  follow(runId: string): Promise<RunHandle>;
  /** Methods for `startWorker` and for receivers of webhooks. */
  readonly engine: EnginePort;
  /** Plans, prices and stores a run without executing it. To execute it, wake the engine with the returned id. */
  start<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options?: RunOptions,
  ): Promise<{ readonly id: string }>;
  /**
   * Compares a run's plan with the plan that the current code makes, by default for the same input. Returns which steps
   * are unchanged, changed, new, removed or renamed, which steps will run again (including those in `rerun`), and the
   * price. To apply the changes, pass the returned quote to `resume` with the same options and `acceptChanges`. Spends
   * nothing and changes nothing.
   */
  drift(runId: string, pipeline: Pipeline, options?: DriftOptions): Promise<Drift & Offer>;
  /**
   * Prepares the changes that a person's note asks for, either to the step or, if it is an approval, to the steps that
   * it shows. Calls each step's `revise`, which returns changes to the step's input; steps without `revise` are rerun.
   * Pass the result to {@link drift} or {@link rerunQuote} for the price, and to `resume` to apply it. The result is
   * empty while any of these steps is in progress. Spends nothing and changes nothing.
   */
  redo(runId: string, step: string, note: string, pipeline?: Pipeline): Promise<Redo>;
  /**
   * Returns the steps that `resume` would run again with these options, and their price. Assumes that the code has not
   * changed, except that with `pipeline`, expansions whose function was corrected are included. Spends nothing and
   * changes nothing.
   */
  rerunQuote(
    runId: string,
    steps: readonly string[],
    options?: Pick<ResumeOptions, "requestId" | "rerunFailed" | "pipeline" | "compare">,
  ): Promise<RerunQuote & Offer>;
  /**
   * Returns how long a step is expected to take, in milliseconds, based on earlier jobs of its model. Null if no
   * duration is known. Uses only the durations that `quote`, `run` and `resume` have read.
   */
  expectedMs(step: PlanStep): number | null;
  /**
   * Lists all runs, or those that match the query, newest first. A run has the status `interrupted` if it should be
   * running but no process is executing it.
   */
  runs(query?: RunsQuery): Promise<readonly RunRow[]>;
  /**
   * Lists this account's runs that can be resumed and that no process is executing: interrupted runs, paused runs whose
   * wait is over, and paused runs that have received a decision since they last stopped.
   */
  due(): Promise<readonly RunRow[]>;
  /**
   * Returns a run's report from the journal. The run has the status `interrupted` if it should be running but no
   * process is executing it.
   */
  show(runId: string): Promise<RunDocument>;
  /** Reads the run's events after `afterSeq` (default 0). With `follow`, waits for more until the run ends. */
  events(
    runId: string,
    options?: { readonly follow?: boolean; readonly afterSeq?: number; readonly signal?: AbortSignal },
  ): AsyncIterable<StoredEvent>;
  /**
   * Asks the process that executes the run to stop it. The next decision or `resume` starts the run again. `reason` is
   * shown to people.
   */
  stop(runId: string, options?: { readonly reason?: string }): Promise<void>;
  /**
   * Lists a run's steps whose submissions were never answered, each with the jobs that it may have created. These jobs
   * used the same model at about the same time and belong to no run in this journal.
   */
  unresolved(runId: string): Promise<readonly UnresolvedStep[]>;
  /** Lists the jobs that an unresolved step may have created, likeliest first. A person decides with `adopt`. */
  candidates(runId: string, step: string): Promise<readonly AdoptionCandidate[]>;
  /**
   * Approves a step that is waiting for a decision. Takes effect immediately if a process is executing the run,
   * otherwise when the run is resumed. Throws {@link InvalidOptionError} if the step is not waiting for a decision, or
   * if `pick` matches nothing that the step shows.
   */
  approve(runId: string, step: string, options?: ApproveDecision): Promise<void>;
  /** Rejects a step that is waiting for a decision. The step fails, and steps that use it are skipped. */
  reject(runId: string, step: string, options?: RejectDecision): Promise<void>;
  /**
   * Adds a comment to a step that is waiting for a decision, without deciding. The comment appears in the journal the
   * next time a process executes the run.
   */
  comment(runId: string, step: string, comment: NewComment): Promise<void>;
  /** Lists steps that are waiting for a person, in the runs that match the query, longest wait first. */
  waiting(query?: WaitingQuery): Promise<readonly WaitingDecision[]>;
  /**
   * Resolves an unresolved step. `jobId` is the job that its request created or, for a request to a provider, the path
   * of the file that the provider produced; null means that there is none. Takes effect when the run is resumed.
   */
  adopt(runId: string, step: string, jobId: string | null): Promise<void>;
  /**
   * Compares the journal, the ledger and the service's list of jobs, for one run or for all of this account's runs.
   * Reports differences, but changes nothing.
   */
  reconcile(runId?: string, options?: ReconcileOptions): Promise<ReconcileReport>;
  /**
   * Removes old finished runs, then stored media that no run refers to anymore. Keeps runs for which money is still
   * reserved, and the files in output folders.
   */
  gc(options?: GcOptions): Promise<GcReport>;
  /**
   * Returns what this account's runs in this journal have spent and reserved, and the limits that this process sets.
   * `tag`, written as `key=value`, counts only runs with that tag. `account` selects another account by its name in the
   * rows of {@link runs}.
   */
  spending(of?: { readonly tag?: string | undefined; readonly account?: string | undefined }): Promise<SpendingTotals>;
  /** Reads the wallet's balance. */
  balance(): Promise<{ readonly balanceMicros: number; readonly currency: string }>;
  /** Counts the API requests sent since this Showrunner was opened. */
  requests(): { readonly total: number };
  /**
   * Gracefully stops the runs that this process is executing, delivers pending notifications, then closes the journal,
   * the client and the embedded service.
   */
  close(): Promise<void>;
}
