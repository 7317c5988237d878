// What the handler says of runs, and the client in a page reads.

/** A file that a run made, at an address that works for an hour at least. */
export interface MediaView {
  /** A path of the server that was asked. */
  readonly url: string;
  readonly kind: "image" | "video" | "audio" | "other";
  readonly contentType: string;
  /** What it is called, where it is returned under a name. */
  readonly name: string | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
}

/** A step of a run, as callers may see it. */
export interface StepView {
  readonly path: string;
  readonly kind: string;
  /** What it does now: `queued`, `rendering`, `approval`, `succeeded` and so on. */
  readonly phase: string;
  /** Why it failed or was skipped: a sentence of ours, or what the pipeline's code says to callers. */
  readonly reason: string | null;
  readonly media: readonly MediaView[];
}

/** What waits for a decision. */
export interface WaitingView {
  readonly step: string;
  readonly message: string | null;
  /** What is shown, in the order in which a pick counts it. */
  readonly media: readonly MediaView[];
  readonly values: readonly unknown[];
  /** Whether one of the media is to be picked. */
  readonly choose: boolean;
}

/** A run as its caller sees it. Amounts are decimals of US dollars, instants are epoch milliseconds. */
export interface RunView {
  readonly id: string;
  /** Number of the newest event that this shows. */
  readonly seq: number;
  readonly pipeline: string;
  readonly title: string;
  /** `running`, `paused`, `succeeded`, `partial`, `failed` or `cancelled`; `interrupted`: no process drives it. */
  readonly status: string;
  /** Why it is paused, or how it failed. */
  readonly message: string | null;
  /** Why it is paused: `approval`, `budget`, `funds` and so on. */
  readonly pause: string | null;
  readonly usd: { readonly quoted: string | null; readonly spent: string; readonly held: string };
  readonly createdAt: number;
  readonly finishedAt: number | null;
  readonly stepCount: number;
  /** The first 500. */
  readonly steps: readonly StepView[];
  readonly waiting: readonly WaitingView[];
  /** What the pipeline returns, as far as it exists; files as {@link MediaView}, parts that do not exist as null. */
  readonly outputs: { readonly [name: string]: unknown };
}

/** An event as callers see it: what happened where, without what only this machine and the service need to know. */
export interface EventView {
  readonly seq: number;
  /** Epoch milliseconds. */
  readonly at: number;
  /** As in docs/events.md. */
  readonly type: string;
  readonly step?: string;
  readonly attempt?: number;
  /** Of `run.finished` and `step.finished`. */
  readonly status?: string;
  /** Why a step ended as it did, or a run is paused. */
  readonly reason?: string;
}

/** A run in a list. */
export type RunLine = Pick<RunView, "id" | "seq" | "pipeline" | "title" | "status" | "createdAt">;

/** How far a step is, as the service says. */
export interface ProgressView {
  readonly step: string;
  /** From 0 to 1; null where it is not known. */
  readonly fraction: number | null;
  /** Epoch milliseconds. */
  readonly endsAt: number | null;
}

/** What a run would cost, decimals of US dollars. */
export interface QuoteView {
  /** Start with it, once. */
  readonly id: string;
  /** What a run that is started with it may cost at most, without `openSteps`. */
  readonly maximumUsd: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  /** Steps whose price nobody knows yet: the run stops there and asks. */
  readonly openSteps: readonly string[];
  readonly usd: {
    readonly min: string /** Null: open-ended. */;
    readonly max: string | null;
    readonly expected: string;
  };
  /** Of the caller's budget; null where that is per run. */
  readonly leftUsd: string | null;
  readonly expectedMs: number | null;
  readonly stepCount: number;
}
