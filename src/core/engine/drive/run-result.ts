import { join } from "node:path";
import type { PartialResultOf, ResultOf, Returns } from "../../define/index.ts";
import type { PauseReason, RunEnd } from "../../journal/events.ts";
import { isRunFinal, type OutputState, planStep, type RunState } from "../../journal/state.ts";
import type { RunUpdate } from "../../journal/store.ts";
import { formatUsd } from "../../kit/money.ts";
import { isReference } from "../../plan/index.ts";
import type { UploadStep } from "../../plan/kinds/upload.ts";
import type { Reference, Returned } from "../../plan/plan.ts";
import { type OpenJob, openJobs } from "../../run/open-jobs.ts";
import { referenced, referencedValue } from "../../run/resolve.ts";
import type { RunDocument } from "../../view/document-schema.ts";
import { runDocument } from "../../view/run-document.ts";
import { RunView } from "../../view/run-view.ts";
import { placedFile } from "../../view/step-view.ts";
import type { Drift } from "../change/drift.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { Updates } from "./updates.ts";

export function runOutputs(state: RunState, media: MediaStore): { readonly [name: string]: unknown } {
  const map = (value: Returned): unknown => {
    if (isReference(value)) return resolveOne(state, media, value.$ref);
    if (Array.isArray(value)) return value.map(map);
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, map(item as Returned)]));
  };
  return map(state.planned.plan.returns) as { readonly [name: string]: unknown };
}

function resolveOne(state: RunState, media: MediaStore, ref: Reference["$ref"]): unknown {
  if (ref.as === "upload") {
    const stored = state.steps[ref.step]?.upload;
    if (stored === null || stored === undefined) return null;
    const given = (planStep(state, ref.step) as UploadStep).file;
    return { path: media.path(stored.sha256) ?? given.path, ...stored };
  }
  if (ref.as === "value") return referencedValue(state, ref) ?? null;
  const outputs = referenced(state, ref).map(({ step, output }) => one(state, media, step, output));
  return ref.output === "all" ? outputs : (outputs[0] ?? null);
}

function one(state: RunState, media: MediaStore, step: string, output: OutputState): unknown {
  if (output.voiceId !== null) return { voiceId: output.voiceId };
  const placed = placedFile(state, step, output.index);
  const copy = output.copy === null ? null : media.path(output.copy.sha256);
  const { assetId, contentType, width, height, durationMs, fps } = output;
  return {
    path: placed === undefined ? copy : join(state.planned.outDir, placed.file),
    assetId,
    sha256: output.copy?.sha256 ?? null,
    contentType,
    width,
    height,
    durationMs,
    fps,
  };
}

/** Why a run is paused, and what is needed for the run to continue. */
export interface RunPause {
  readonly reason: PauseReason;
  /** What happened, and what to do next. */
  readonly message: string;
  /** URL of the page for adding funds. Null unless the reason is `funds` and the service provides such a page. */
  readonly fundingUrl: string | null;
  /** The price of the job that the wallet could not pay for, in micro-dollars. Set only if the reason is `funds`. */
  readonly requiredMicros: number | null;
  /** The wallet's balance when the job was refused, in micro-dollars. Set only if the reason is `funds`. */
  readonly balanceMicros: number | null;
  /** When the run can continue without a person, in epoch milliseconds. Set only if the reason is `cap`. */
  readonly resumeAt: number | null;
  /** The command-line option that raises the limit. Null unless a limit shared by several runs was reached. */
  readonly flag: string | null;
}

/** The result of a run. `O` is the type of the pipeline's outputs. In `P`, any of these outputs may be null. */
export type RunResult<O = unknown, P = unknown> = SucceededRun<O> | EndedRun<P> | PausedRun<P>;

interface AnyRun {
  readonly id: string;
  /** The amount charged, minus refunds. */
  readonly cost: { readonly micros: number; readonly usd: string };
  readonly report: RunDocument;
  /** How the code passed to `resume` differs from the run, if the changes were not accepted; otherwise null. */
  readonly drift: Drift | null;
  /** Jobs that the run no longer waits for, but that continue on the service and may cost money. */
  readonly openJobs: readonly OpenJob[];
}

interface SucceededRun<O> extends AnyRun {
  readonly status: "succeeded";
  /**
   * What the pipeline returns. A part can be null only where the pipeline allows this, for example with `quorum(n)`.
   */
  readonly outputs: O;
  readonly pause: null;
}

interface EndedRun<P> extends AnyRun {
  readonly status: "partial" | "failed" | "cancelled";
  /** What the pipeline returns. Missing parts are null. */
  readonly outputs: P;
  readonly pause: null;
}

interface PausedRun<P> extends AnyRun {
  readonly status: "paused";
  /** The outputs that exist so far; all others are null. */
  readonly outputs: P;
  readonly pause: RunPause;
}

/** A handle for a run that this process executes or follows. */
export interface RunHandle<O = unknown, P = unknown> {
  /** The run's id, as used by `resume` and the command line. */
  readonly id: string;
  /** Yields all events from the beginning, and progress as it arrives. Ends when the run ends or pauses. */
  events(): AsyncIterable<RunUpdate>;
  /**
   * Resolves when the run finishes or pauses. Rejects if something outside the run fails, such as a full disk or a lost
   * lease.
   */
  result(): Promise<RunResult<O, P>>;
  /** Stops the run gracefully. Nothing new is submitted, and the run pauses when requests in progress are answered. */
  stop(): Promise<void>;
}

/** The handle of a run whose pipeline returns `R`. For a plain `Pipeline`, the types of the outputs are unknown. */
export type RunHandleOf<R extends Returns> = Returns extends R ? RunHandle : RunHandle<ResultOf<R>, PartialResultOf<R>>;

export function result(state: RunState, media: MediaStore, drift: Drift | null = null): RunResult {
  let report: RunDocument | null = null;
  const isFinal = isRunFinal(state.status);
  return {
    id: state.runId,
    status: isFinal ? (state.status as RunEnd) : "paused",
    outputs: runOutputs(state, media),
    pause: isFinal ? null : (state.pause ?? AT_REST),
    cost: { micros: state.spentMicros, usd: formatUsd(state.spentMicros) },
    // Programs that run thousands of small runs seldom read it.
    get report() {
      report ??= runDocument(new RunView(state));
      return report;
    },
    drift,
    openJobs: openJobs(state),
  } as RunResult;
}

const AT_REST: RunPause = {
  reason: "stopped",
  message: "no process is driving the run; resume it",
  fundingUrl: null,
  requiredMicros: null,
  balanceMicros: null,
  resumeAt: null,
  flag: null,
};

interface Background {
  begin(): Promise<RunResult>;
  stop(): Promise<unknown>;
}

export function runHandle(
  id: string,
  updates: Updates,
  { begin, stop }: Background,
  signal: AbortSignal | undefined,
): RunHandle {
  const onAbort = () => void stop().catch(() => {});
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  const done = begin().finally(() => {
    signal?.removeEventListener("abort", onAbort);
    updates.end();
  });
  done.catch(() => {});
  return {
    id,
    events: () => updates.read(),
    result: () => done,
    stop: async () => {
      await stop();
      await done.catch(() => {});
    },
  };
}
