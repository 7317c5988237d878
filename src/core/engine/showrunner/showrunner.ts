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

/** What an engine calls to drive runs in slices, and those who tell it of webhooks. */
export interface EnginePort {
  /**
   * One slice of a run, for an engine: takes the run, does what is due, writes it down, and answers when to look again. A
   * run that only waits is in the journal and nowhere else. Woken too early or too often, it does nothing.
   */
  slice(runId: string, options?: SliceOptions): Promise<Slice>;
  /**
   * What a genuine webhook said: a job ended. Its run looks at it now instead of when its poll is due, whatever process drives it;
   * of a job that no run knows yet, as soon as one does. Repeated as often as wished: the same id counts once.
   */
  hint(delivery: { readonly id: string; readonly jobId: string }): Promise<DeliveryOutcome>;
  /** Ids of runs of this account that an engine should have looked at so long ago, milliseconds (default 0): their wakes were lost. */
  dueRuns(options?: { readonly lateMs?: number; readonly limit?: number }): Promise<readonly string[]>;
  /** Performs what a slice delegated, and tells the run; rejects where that has to be tried again. */
  work(work: LocalWork, options?: Pick<SliceOptions, "findPipeline" | "signal">): Promise<void>;
}

export interface Showrunner {
  /** What it works on, for what has no word here. */
  readonly journal: JournalStore;
  /** Bytes of outputs and uploads, by content hash. */
  readonly media: MediaStore;
  /** The client that everything here goes through, for what has no word of its own. */
  readonly client: Client;
  readonly service: {
    readonly kind: "hosted" | "local";
    readonly baseUrl: string;
    /** Why it has no key, where it was opened without one (`keyOptional`). */
    readonly missingKey: InvalidOptionError | null;
  };
  /**
   * Notifications of the runs that this process drives. `start` also tells what other processes left in the journal's
   * outbox, as long as this is open.
   */
  readonly notifications: Notifications & { start(): void };
  /** All problems at once, or the plan. Reads the catalog, sends nothing else. */
  plan<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options?: PlanOptions,
  ): Promise<
    { readonly ok: true; readonly plan: Plan } | { readonly ok: false; readonly problems: readonly Problem[] }
  >;
  /** The plan with prices, and the id that a start of just this is agreed to by. Spends nothing. */
  quote<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options?: QuoteOptions,
  ): Promise<Quote>;
  /**
   * Holds the plan against an earlier run: which steps that run cannot stand for, why, and what these cost. Spends
   * nothing.
   */
  compare<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options: CompareOptions,
  ): Promise<Comparison>;
  /**
   * Plans and prices the pipeline, then drives the run in this process. Throws {@link PlanProblemsError} with all problems
   * at once, {@link OverBudgetError} when the quote is above `budget`, and {@link QuoteRefusedError} when it is not what
   * `quote` was for; then nothing was submitted. `await` gives the
   * handle of a run under way; its `result()` settles with its end or pause.
   */
  run<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options?: RunOptions,
  ): Promise<RunHandleOf<R>>;
  /**
   * Continues with a run where its journal stands: after a crash, a stop, a pause, or with changes. With `pipeline`, the
   * result is typed like that of `run`. Of a run that this process drives it is the same handle; what changes the run is done
   * once it is at rest. Throws {@link RunBusyError} while another process drives it, and {@link AccountMismatchError} for a
   * run of another account.
   */
  resume<S extends z.ZodType, R extends Returns>(
    runId: string,
    options: ResumeOptions & { readonly pipeline: Pipeline<S, R> },
  ): Promise<RunHandleOf<R>>;
  resume(runId: string, options?: ResumeOptions): Promise<RunHandle>;
  /**
   * The handle of a run, from anywhere in this process or another one: the same handle where this process drives the run. It
   * drives nothing itself; its `result()` settles when the run is at rest, and `pipeline` only says its type. Throws
   * {@link RunUnknownError}.
   */
  follow<S extends z.ZodType, R extends Returns>(
    runId: string,
    options: { readonly pipeline: Pipeline<S, R> },
  ): Promise<RunHandleOf<R>>;
  follow(runId: string): Promise<RunHandle>;
  /** For `startWorker` and the receivers of webhooks, which drive runs and wake them through it. */
  readonly engine: EnginePort;
  /**
   * As {@link run}, for an engine: plans, prices and writes the run down, and drives nothing. `wake` the engine with its id.
   */
  start<S extends z.ZodType, R extends Returns>(
    pipeline: Pipeline<S, R>,
    input: z.input<S>,
    options?: RunOptions,
  ): Promise<{ readonly id: string }>;
  /**
   * Compares the run's plan with what the code makes of the same input now, or of that input with some fields corrected, or
   * with inputs of steps edited: which steps are unchanged, changed, new, gone or renamed, which are to be rerun, with those
   * of `rerun`, and for how much. Its quote is that of `resume` with the same options and `acceptChanges`. Spends nothing and
   * changes nothing.
   */
  drift(runId: string, pipeline: Pipeline, options?: DriftOptions): Promise<Drift & Offer>;
  /**
   * What a person's note on a step, or on what an approval shows, asks to be made again: `revise` of the steps says what it
   * changes in their inputs; those without one are asked for once more. Pass it to {@link drift} or {@link rerunQuote} for
   * the price, and to `resume` to have it made. Empty while any of it is still being made. Spends nothing and changes nothing.
   */
  redo(runId: string, step: string, note: string, pipeline?: Pipeline): Promise<Redo>;
  /**
   * What `resume` with `rerun: steps` (and `rerunFailed`) would make again without the changes of its code, and for how much.
   * With the `pipeline` that `resume` is given, that includes expansions whose function was mended. Spends nothing and changes nothing.
   */
  rerunQuote(
    runId: string,
    steps: readonly string[],
    options?: Pick<ResumeOptions, "requestId" | "rerunFailed" | "pipeline" | "compare">,
  ): Promise<RerunQuote & Offer>;
  /**
   * How long the step is expected to take by what its model took, milliseconds; null before that has
   * finished a job. Knows what `quote`, `run` and `resume` read for their plans.
   */
  expectedMs(step: PlanStep): number | null;
  /**
   * Newest first: all, or those that the query is about. A run that seems to run although no process drives it has the
   * status `interrupted`.
   */
  runs(query?: RunsQuery): Promise<readonly RunRow[]>;
  /**
   * Resumable runs of this account that no process drives: those that have not come to an end or a pause, and
   * those at rest whose inbox holds a decision and no later stop.
   */
  due(): Promise<readonly RunRow[]>;
  /** As the journal has it; `interrupted` is said of a run that seems to run although no process drives it. */
  show(runId: string): Promise<RunReport>;
  events(
    runId: string,
    options?: { readonly follow?: boolean; readonly afterSeq?: number; readonly signal?: AbortSignal },
  ): AsyncIterable<StoredEvent>;
  /** Asks whoever drives the run to stop it. Meant once: a run at rest continues with the next decision or `resume`. `reason`: why, for people. */
  stop(runId: string, options?: { readonly reason?: string }): Promise<void>;
  /**
   * The steps of a run whose submits were never answered, each with the jobs that it may have made. Reads every job of
   * their models that was made while they were sent and that no run of this journal knows.
   */
  unresolved(runId: string): Promise<readonly UnresolvedStep[]>;
  /** The jobs that one of them may have made, the likeliest first. A person decides which it is, with `adopt`. */
  candidates(runId: string, step: string): Promise<readonly AdoptionCandidate[]>;
  /**
   * Lets a step that waits for a decision continue. Takes effect at once when a process drives the run, else when the run is
   * resumed. Throws {@link InvalidOptionError} when the step waits for no decision, or `pick` names nothing it shows.
   */
  approve(runId: string, step: string, options?: ApproveDecision): Promise<void>;
  /** The opposite: the step fails, and what uses it is skipped. */
  reject(runId: string, step: string, options?: RejectDecision): Promise<void>;
  /** Comments on what waits for a decision, and decides nothing. In the journal once a process drives the run. */
  comment(runId: string, step: string, comment: NewComment): Promise<void>;
  /** What waits for a person's decision in the runs of the query, the longest wait first. */
  waiting(query?: WaitingQuery): Promise<readonly WaitingDecision[]>;
  /**
   * Says which job an unresolved step made; null: none. Of a request to a provider: the path of the file that it made, or
   * null. Takes effect when the run is resumed.
   */
  adopt(runId: string, step: string, jobId: string | null): Promise<void>;
  /**
   * Compares journal, ledger and the service's job list: one run, or every run of this account. Lists what differs and
   * changes nothing.
   */
  reconcile(runId?: string, options?: ReconcileOptions): Promise<ReconcileReport>;
  /**
   * Removes finished runs that are old, then the media in the store that no run names any more. A run with money still
   * held stays; files placed in a run's own folder stay.
   */
  gc(options?: GcOptions): Promise<GcReport>;
  /**
   * What all runs of this account on this journal spent and reserved, or those that carry a tag, `key=value`; with the limits
   * that this Showrunner keeps to.
   */
  spending(of?: { readonly tag?: string | undefined }): Promise<SpendingTotals>;
  balance(): Promise<{ readonly balanceMicros: number; readonly currency: string }>;
  /** API requests sent since this Showrunner was opened. */
  requests(): { readonly total: number };
  /** Stops its runs gracefully, delivers what is still to be delivered, then closes journal, client and embedded service. */
  close(): Promise<void>;
}
