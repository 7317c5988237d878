// The handler's answers, as the browser client receives them.

/** An output file of a run. */
export interface MediaView {
  /**
   * URL of the file, usable for at least an hour. The server sends a path, to which the browser client adds the origin.
   */
  readonly url: string;
  readonly kind: "image" | "video" | "audio" | "other";
  readonly contentType: string;
  /** Name under which the pipeline returns the file. Null if the pipeline does not return it. */
  readonly name: string | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
}

/** A step of a run, without details that only the operator may see. */
export interface StepView {
  readonly path: string;
  readonly kind: string;
  /** The current phase, such as `queued`, `rendering`, `approval` or `succeeded`. */
  readonly phase: string;
  /** Why the step failed or was skipped: a fixed sentence, or the message of a `CallerError`. */
  readonly reason: string | null;
  readonly media: readonly MediaView[];
}

/** A step that waits for a decision. */
export interface WaitingView {
  readonly step: string;
  readonly message: string | null;
  /** The media to decide on. `pick` is a position in this list. */
  readonly media: readonly MediaView[];
  readonly values: readonly unknown[];
  /** Whether the decision is to pick one of the media. */
  readonly choose: boolean;
}

/** A run as its caller sees it. Amounts are US dollars as decimal strings, and times are epoch milliseconds. */
export interface RunView {
  readonly id: string;
  /** Number of the newest event that this view includes. */
  readonly seq: number;
  readonly pipeline: string;
  readonly title: string;
  /**
   * Status of the run: `running`, `paused`, `succeeded`, `partial`, `failed`, `cancelled`, or `interrupted` if no
   * process drives it.
   */
  readonly status: string;
  /** Why the run is paused, or why it failed. */
  readonly message: string | null;
  /** Kind of pause, such as `approval`, `budget` or `funds`. */
  readonly pause: string | null;
  readonly usd: { readonly quoted: string | null; readonly spent: string; readonly held: string };
  readonly createdAt: number;
  readonly finishedAt: number | null;
  readonly stepCount: number;
  /** The first steps of the run, at most 500. */
  readonly steps: readonly StepView[];
  readonly waiting: readonly WaitingView[];
  /** The pipeline's results so far. Files are {@link MediaView} objects, and parts that do not exist yet are null. */
  readonly outputs: { readonly [name: string]: unknown };
}

/** An event of a run, without details that only the operator may see. */
export interface EventView {
  readonly seq: number;
  /** When the event was recorded, in epoch milliseconds. */
  readonly at: number;
  /** Type of the event, as listed in docs/events.md. */
  readonly type: string;
  readonly step?: string;
  readonly attempt?: number;
  /** Final status, set only in `run.finished` and `step.finished`. */
  readonly status?: string;
  /** Why the step has this status, or why the run is paused. */
  readonly reason?: string;
}

/** A run in a list. */
export type RunLine = Pick<RunView, "id" | "seq" | "pipeline" | "title" | "status" | "createdAt">;

/** A step's progress, as the service reports it. */
export interface ProgressView {
  readonly step: string;
  /** Completed part of the step, from 0 to 1. Null if unknown. */
  readonly fraction: number | null;
  /** When the service expects the step to end, in epoch milliseconds. Null if unknown. */
  readonly endsAt: number | null;
}

/** A quote for a run. Amounts are US dollars as decimal strings. */
export interface QuoteView {
  /** Id to pass to `start` as `quote`. Each quote can be used only once. */
  readonly id: string;
  /** Maximum cost of a run started with this quote, without the cost of `openSteps`. */
  readonly maximumUsd: string;
  /** When the quote expires, in epoch milliseconds. */
  readonly expiresAt: number;
  /** Steps without a known price. The run pauses before each one and asks for agreement to its price. */
  readonly openSteps: readonly string[];
  readonly usd: {
    readonly min: string;
    /** Maximum cost. Null if there is no upper limit. */
    readonly max: string | null;
    readonly expected: string;
  };
  /** The caller's remaining budget. Null if the caller has no overall budget. */
  readonly leftUsd: string | null;
  readonly expectedMs: number | null;
  readonly stepCount: number;
}
