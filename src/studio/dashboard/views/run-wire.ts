import type {
  AttemptView as Attempt,
  ComparedPart,
  Incident,
  OutputState as Output,
  Refused,
  StepView as Step,
  StepPhase,
  RunSummary as Summary,
  TimelineSpan,
} from "../../../internal.ts";

/**
 * What server and page say to each other. Types only, so that the page can share them. Money is micro-dollars, instants
 * are epoch milliseconds; texts of users are cut to a length that can be shown.
 */

/** How many steps are where. */
export interface StepCounts {
  readonly total: number;
  readonly done: number;
  readonly active: number;
  readonly waiting: number;
  readonly failed: number;
  readonly skipped: number;
}

/** One output, or one uploaded file, that can be looked at. */
export interface MediaView
  extends Omit<Output, "index" | "status" | "voiceId" | "contentType" | "error" | "phase" | "copy" | "uncopied"> {
  readonly step: string;
  /** Position in the step's outputs; `upload` for an upload's file. */
  readonly index: number | "upload";
  readonly kind: "image" | "video" | "audio" | "other";
  readonly contentType: string | null;
  /** Where its bytes are; null while there is no copy on this machine. */
  readonly url: string | null;
  readonly sizeBytes: number | null;
  /** Of its copy here; null without one. */
  readonly sha256: string | null;
  readonly state: string;
  readonly error: string | null;
  /** What the pipeline calls it, where it returns it. */
  readonly name: string | null;
  /** Its named file below the run's folder. */
  readonly file: string | null;
}

/** What an attempt made that was superseded since. */
export interface EarlierView extends MediaView {
  readonly attempt: number;
}

/** A run in the list. */
export interface RunSummary extends Omit<Summary, "tags" | "unconfirmedMicros"> {
  /** `key=value` each. */
  readonly tags: readonly string[];
  readonly updatedAt: number;
  readonly counts: StepCounts;
  /** Active time up to its last pause, milliseconds. */
  readonly tookMs: number;
  /** Up to four results, newest last. */
  readonly covers: readonly MediaView[];
}

export interface RunsPage {
  readonly rows: readonly RunSummary[];
  /** Rows that match, shown or not. */
  readonly matching: number;
  /** Rows by status, whatever the filter. */
  readonly byStatus: { readonly [status: string]: number };
}

/** As `missing` in the run's report. */
export interface MissingView {
  readonly step: string;
  readonly output: number | null;
  readonly what: "decision" | "job" | "file" | "expired" | "result" | "bill";
  /** ISO-8601; null: nothing ends. */
  readonly until: string | null;
  readonly text: string;
}

export interface RunHead extends RunSummary {
  /** What it lacks, the first 200: as every view of the run names it. */
  readonly missing: readonly MissingView[];
  readonly seq: number;
  readonly startedAt: number | null;
  /** Active since, epoch milliseconds; null while it is paused. */
  readonly workingSince: number | null;
  readonly baseUrl: string;
  readonly keyId: string;
  readonly outDir: string;
  readonly source: string | null;
  readonly maxUnquotedMicros: number | null;
  readonly jobsAtOnce: number;
  /** Why this dashboard stopped driving the run; null when nothing went wrong. */
  readonly driveError: string | null;
  /** True while this dashboard drives it. */
  readonly drivenHere: boolean;
}

export interface AttemptView extends Omit<Attempt, "input" | "outputs" | "error"> {
  /** `site`: where in its author's code a local function threw. */
  readonly error: { readonly code: string; readonly message: string; readonly site: string | null } | null;
}

/** A step without what is long, or looked at elsewhere, and with what can be seen of it. */
export interface StepView
  extends Omit<
    Step,
    "plan" | "quote" | "current" | "attempts" | "error" | "outputs" | "value" | "chosen" | "approval"
  > {
  /** Of the attempt that counts; of a plan, its price. */
  readonly quote: { readonly costMicros: number | null; readonly basis: string } | null;
  /** What a person calls a step of its kind. */
  readonly noun: string;
  readonly icon: "media" | "file" | "decision" | "group" | "value";
  /** Whether it yields pictures of its own, or film. */
  readonly hasPicture: boolean;
  /** Media kind, `voice` or `value`; null where that is not known beforehand. */
  readonly yields: string | null;
  readonly needs: readonly string[];
  /** The prompt or text in short. */
  readonly ask: string | null;
  readonly attempts: readonly AttemptView[];
  readonly media: readonly MediaView[];
  readonly voiceId: string | null;
  /** Only of approvals and picks. */
  readonly decision: DecisionView | null;
  /** What checks refused of it, or on the way to what it passes on. */
  readonly refused: readonly RefusedView[];
  /** True of a step that the plan no longer has: what it made and cost stays listed. */
  readonly isRemoved: boolean;
}

/** What a check did not accept, with what it looked at. */
export interface RefusedView extends Omit<Refused, "shows"> {
  readonly shows: readonly MediaView[];
}

export interface DecisionView {
  readonly shows: readonly MediaView[];
  /** What is to be read rather than looked at. */
  readonly values: readonly { readonly step: string; readonly value: unknown }[];
  readonly choose: boolean;
  readonly message: string | null;
  readonly approved: boolean | null;
  readonly note: string | null;
  /** Position in `shows`. */
  readonly pick: number | null;
  /** What made each, where several models are compared; null elsewhere. Its positions count in `shows`. */
  readonly compared: readonly ComparedPart[] | null;
  readonly comments: readonly CommentView[];
}

export interface CommentView {
  readonly text: string;
  /** Null: whoever may act on the run. */
  readonly name: string | null;
  /** Position among what is shown; null: of all of it. */
  readonly take: number | null;
  readonly timeMs: number | null;
  readonly at: number;
}

/** Progress of a step: 0 to 1, and when the service expects it to be done. */
export interface ProgressView {
  readonly step: string;
  readonly fraction: number | null;
  readonly dueAt: number | null;
}

export interface EventLine {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly step: string | null;
  readonly text: string;
}

/** A change of a run, sent as it comes; the first one of a page holds everything. */
export interface RunPatch {
  /** True: nothing that was sent before counts. */
  readonly full: boolean;
  readonly head: RunHead;
  /** Of a run too large for a page, of which `steps` are some; null where `steps` are all. */
  readonly groups: readonly GroupView[] | null;
  readonly steps: readonly StepView[];
  /** The newest events since, at most 200 of them. */
  readonly events: readonly EventLine[];
  readonly progress: readonly ProgressView[];
}

/** Steps that are alike, counted. */
export interface GroupView {
  readonly key: string;
  readonly count: number;
  readonly phases: { readonly [P in StepPhase]?: number };
  /** Steps among those sent that stand for it. */
  readonly shown: readonly string[];
  /** Keys of the groups that it needs. */
  readonly needs: readonly string[];
}

/** Some of the steps that a list of a large run is about. */
export interface StepsPage {
  readonly total: number;
  readonly steps: readonly StepView[];
}

/** What a model cost in a run. */
export interface ModelCosts {
  readonly name: string;
  readonly count: number;
  /** Null where none of its steps has a price. */
  readonly quoted: number | null;
  readonly held: number;
  readonly cost: number;
}

export interface RunCosts {
  readonly models: readonly ModelCosts[];
  /** What the run had cost after each charge. */
  readonly spent: readonly { readonly at: number; readonly sumMicros: number }[];
}

interface Share {
  readonly name: string;
  readonly costMicros: number;
}

/** What runs cost in a period that begins at `from`, the first instant of a day (UTC). */
export interface AllCosts {
  readonly from: number;
  /** Charged for what was reserved on each of its days, micro-dollars. */
  readonly days: readonly number[];
  /** Of runs that moved since then, with what they had cost before. */
  readonly pipelines: readonly Share[];
  readonly tags: readonly Share[];
  /** As the service counts them, jobs outside of runs too; none where it does not say. */
  readonly models: readonly Share[];
  /** Older runs that are not among those of `pipelines`. */
  readonly runsLeftOut: number;
}

export interface StepDetail {
  /** The input as it was (or is to be) sent; long texts are cut. */
  readonly input: unknown;
  readonly inputIsCut: boolean;
  /** The media that the input refers to. */
  readonly uses: readonly Pick<MediaView, "step" | "index">[];
  readonly value: unknown;
  readonly needs: readonly string[];
  readonly usedBy: readonly string[];
  readonly events: readonly EventLine[];
}

/** The first rows of a run's timeline, one a step; `from` and `to` are of all. */
export interface TimelineView {
  readonly rows: number;
  readonly from: number;
  /** Null while nothing has ended. */
  readonly to: number | null;
  readonly spans: readonly TimelineSpan[];
  /** Retries, waits, refusals and pauses; the first ones. */
  readonly incidents: readonly Incident[];
}

/** What a run was given; long texts are cut. */
export interface GivenView {
  readonly input: unknown;
  readonly isCut: boolean;
}

/** What a run returned, as a client sees it: no step, no prompt, no incident, and no cost unless it was asked for. */
export interface ClientReport {
  readonly title: string;
  /** Epoch milliseconds. */
  readonly writtenAt: number;
  readonly isComplete: boolean;
  /** Dollars with two decimals; null: not to be shown. */
  readonly price: string | null;
  readonly media: readonly MediaView[];
}

/** A run within a report: what its page would ask a server for, as of one moment. */
export interface InlinedRun {
  /** The moment; epoch milliseconds. */
  readonly now: number;
  readonly writtenAt: number;
  /** Showrunner's, that wrote it. */
  readonly version: string;
  readonly patch: RunPatch;
  /** By what follows the run's name in their address, such as `costs` or `step?path=…`. */
  readonly answers: { readonly [path: string]: unknown };
}
