/**
 * What server and page say to each other. Types only, so that the page can share them. Money is micro-dollars, instants
 * are epoch milliseconds; texts of users are cut to a length that can be shown.
 */

/** Of the journal, and `interrupted`: under way there, although no process drives it. */
export type RunStatus =
  | "planned"
  | "running"
  | "interrupted"
  | "paused"
  | "succeeded"
  | "partial"
  | "failed"
  | "cancelled";

/** The activity of a step, as shown to people. */
export type StepPhase =
  | "waiting"
  | "uploading"
  | "pricing"
  | "submitting"
  | "queued"
  | "rendering"
  | "downloading"
  | "asking"
  | "working"
  | "choosing"
  | "planning"
  | "approval"
  | "unresolved"
  | "succeeded"
  | "partial"
  | "failed"
  | "skipped"
  | "cancelled";

export interface PauseView {
  readonly reason: string;
  readonly message: string;
  readonly fundingUrl: string | null;
  readonly requiredMicros: number | null;
  readonly balanceMicros: number | null;
}

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
export interface MediaView {
  readonly step: string;
  /** Position in the step's outputs; `upload` for an upload's file. */
  readonly index: number | "upload";
  readonly kind: "image" | "video" | "audio" | "other";
  /** Where its bytes are; null while there is no copy on this machine. */
  readonly url: string | null;
  readonly contentType: string | null;
  readonly sizeBytes: number | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
  readonly fps: number | null;
  readonly state: string;
  readonly error: string | null;
  /** What the pipeline calls it, where it returns it. */
  readonly name: string | null;
  /** Its named file below the run's folder. */
  readonly file: string | null;
}

export interface RunSummary {
  readonly id: string;
  readonly pipeline: string;
  /** `key=value` each. */
  readonly tags: readonly string[];
  readonly status: RunStatus;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly finishedAt: number | null;
  readonly spentMicros: number;
  readonly heldMicros: number;
  readonly budgetMicros: number | null;
  readonly quoteMicros: number | null;
  readonly pause: PauseView | null;
  readonly message: string | null;
  /** The command that takes it on; null when nothing is left to do or a process is at it. */
  readonly next: { readonly command: string; readonly note: string | null } | null;
  readonly counts: StepCounts;
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

export interface RunHead extends RunSummary {
  readonly seq: number;
  readonly startedAt: number | null;
  /** Active time up to its last pause, milliseconds. */
  readonly tookMs: number;
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

export interface AttemptView {
  readonly n: number;
  readonly phase: string;
  readonly model: string | null;
  readonly jobId: string | null;
  readonly quoteMicros: number | null;
  readonly basis: string | null;
  readonly holdMicros: number;
  readonly costMicros: number | null;
  readonly money: string;
  readonly error: string | null;
  readonly submittedAt: number | null;
  readonly completedAt: number | null;
  /** True when the step was rerun since. */
  readonly superseded: boolean;
}

export interface StepView {
  readonly path: string;
  readonly kind: string;
  /** What a person calls a step of its kind. */
  readonly noun: string;
  readonly icon: "media" | "file" | "decision" | "group" | "value";
  /** Whether it yields pictures of its own, or film. */
  readonly hasPicture: boolean;
  readonly model: string | null;
  /** Media kind, `voice` or `value`; null where that is not known beforehand. */
  readonly yields: string | null;
  readonly needs: readonly string[];
  readonly status: string;
  readonly phase: StepPhase;
  readonly reason: string | null;
  /** The prompt or text in short. */
  readonly ask: string | null;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly quoteMicros: number | null;
  readonly basis: string | null;
  readonly costMicros: number | null;
  readonly heldMicros: number;
  readonly attempts: readonly AttemptView[];
  readonly media: readonly MediaView[];
  readonly voiceId: string | null;
  /** Only of approvals and picks. */
  readonly decision: DecisionView | null;
  /** The run whose result it reuses. */
  readonly reusedFrom: string | null;
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
  readonly held: number;
  readonly cost: number;
}

export interface RunCosts {
  readonly models: readonly ModelCosts[];
  /** What the run had cost after each charge. */
  readonly spent: readonly { readonly at: number; readonly sumMicros: number }[];
}

/** What was charged on one day (UTC, its first instant) for jobs of one model in runs of one pipeline with the same tags. */
export interface CostRow {
  readonly day: number;
  readonly pipeline: string;
  readonly tags: readonly string[];
  readonly model: string;
  readonly jobs: number;
  readonly costMicros: number;
}

/** What runs cost in a period; `from` and `to` are its first and last day. */
export interface AllCosts {
  readonly from: number;
  readonly to: number;
  readonly rows: readonly CostRow[];
  /** Older runs that were not read. */
  readonly runsLeftOut: number;
}

export interface StepDetail {
  readonly step: StepView;
  /** The input as it was (or is to be) sent; long texts are cut. */
  readonly input: unknown;
  readonly inputIsCut: boolean;
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
  readonly spans: readonly SpanView[];
}

export interface SpanView {
  readonly step: string;
  readonly attempt: number;
  readonly phase: string;
  readonly from: number;
  readonly to: number | null;
}
