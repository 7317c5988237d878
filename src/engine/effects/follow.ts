import type { ApiError, JobResult, JobStatusView } from "../../api/index.ts";
import { cleanContentType, cleanId, cleanText, sentence } from "../../clean-text.ts";
import type { OutputFacts, RunEvent } from "../../journal/events.ts";
import type { Progress } from "../../journal/store.ts";
import type { Command } from "../../run/command.ts";
import { foreignError, judge } from "../service/service-answers.ts";
import { type Effect, type EffectContext, type EffectResult, placed } from "./effect.ts";
import { retryOrPause } from "./retry-or-pause.ts";

/** Delay before a follow that ended without a final status is repeated, milliseconds. */
const AGAIN_MS = 5_000;

/** Follows an accepted job to its end; the truth is always GET /jobs/{id}. */
export const follow: Effect<"follow"> = async (command, context) => {
  const { step, attempt, jobId } = command;
  const { signal } = context;
  const { phase, model } = context.state.steps[step]!.attempts[attempt - 1]!;
  let started = phase === "inProgress";
  let isFound = phase !== "unresolved";
  const options = { strategy: context.follow, signal, priority: placed(context), model: model ?? undefined };
  try {
    for await (const update of context.client.follow(jobId, options)) {
      if (!isFound && update.type !== "switched") {
        isFound = true;
        context.emit([{ type: "job.found", step, attempt }]);
      }
      if (update.type === "finished") return told(command, context, update);
      if (update.type !== "status") continue;
      if (update.status.status === "IN_PROGRESS" && !started) {
        started = true;
        context.emit([{ type: "job.started", step, attempt }]);
      }
      context.progress(progressOf(step, update.status));
    }
    return { events: [], againInMs: AGAIN_MS };
  } catch (error) {
    return followFailed(command, context, error, isFound);
  }
};

/** What a read of the job that failed means. `isFound`: the service has answered for it before. */
export function followFailed(
  { step, attempt, jobId }: Follow,
  context: EffectContext,
  error: unknown,
  isFound: boolean,
): EffectResult {
  const judged = judge("follow", error);
  if (judged.verdict !== "not found") return retryOrPause(judged, context);
  if (!isFound) return { events: [], againInMs: Number.POSITIVE_INFINITY };
  // A job that the journal knows is never submitted again because a read does not find it.
  const { status, code } = error as ApiError;
  const message = sentence`job ${cleanText(jobId, 300)} was accepted, and now the service answers ${status} ${cleanText(code, 100)}`;
  return { events: [], refused: [{ type: "job.unresolved", step, attempt, message, cause: "not found" }] };
}

export function progressOf(step: string, { progress, estimatedCompletionAt }: JobStatusView): Progress {
  const estimate = Date.parse(estimatedCompletionAt ?? "");
  return { step, fraction: progress, estimatedCompletionAt: Number.isNaN(estimate) ? null : estimate };
}

/** The end of a job, as the job itself tells it. */
export function told(
  command: Follow,
  { freshUrls }: EffectContext,
  { job, outcome }: { readonly job: JobResult; readonly outcome: string },
): EffectResult {
  // Spares the download a read of the job.
  for (const { index, url } of job.outputs) if (url !== null) freshUrls.set(`${job.jobId} ${index}`, url);
  return { events: finished(command, job, outcome) };
}

/** The cost of a job whose end is known but whose bill came late. */
export const settle: Effect<"settle"> = async (command, context) => {
  const { step, attempt, jobId } = command;
  try {
    const job = await context.client.job(jobId, { signal: context.signal });
    if (job.costMicros !== null) {
      return { events: [{ type: "job.settled", step, attempt, costMicros: job.costMicros }] };
    }
  } catch (error) {
    const judged = judge("settle", error);
    if (judged.verdict !== "bill open") return retryOrPause(judged, context);
  }
  const endedAt = context.state.steps[step]?.attempts[attempt - 1]?.completedAt ?? 0;
  const waitedMs = context.now() - endedAt;
  return { events: [], againInMs: waitedMs > 120_000 ? Number.POSITIVE_INFINITY : Math.max(2_000, waitedMs) };
};

type Follow = Extract<Command, { readonly type: "follow" }>;

function finished(command: Follow, job: JobResult, outcome: string): readonly RunEvent[] {
  const { step, attempt } = command;
  const bill: readonly RunEvent[] =
    job.costMicros === null ? [] : [{ type: "job.settled", step, attempt, costMicros: job.costMicros }];
  if (outcome === "completed") {
    return [{ type: "job.completed", step, attempt, outputs: job.outputs.map(outputFacts) }, ...bill];
  }
  const error =
    job.error === null
      ? foreignError({ code: "UNKNOWN", message: `the job ended as ${job.status}`, retryable: false })
      : foreignError(job.error);
  return [{ type: "job.failed", step, attempt, error }, ...bill];
}

function outputFacts(output: JobResult["outputs"][number]): OutputFacts {
  const { index, assetId, voiceId, contentType, width, height, durationMs, fps, error } = output;
  const status: OutputFacts["status"] =
    output.status === "COMPLETED" ? "COMPLETED" : output.status === "EXPIRED" ? "EXPIRED" : "FAILED";
  return {
    index,
    status,
    assetId: cleanId(assetId),
    voiceId: cleanId(voiceId),
    contentType: cleanContentType(contentType),
    width,
    height,
    durationMs,
    fps,
    error: error === null ? null : foreignError(error),
  };
}
