import { estimatedCompletion, progressOf } from "../lifecycle/job.ts";
import { usd } from "../money.ts";
import type { NormalOptions } from "../options.ts";
import type { EventRow, JobRow, OutputRow } from "../store/rows.ts";
import type { Store } from "../store/store.ts";

const LOGS_IN_RESULT = 100;

export const instant = (ms: number): string => new Date(ms).toISOString();
export const instantOrNull = (ms: number | null): string | null => (ms === null ? null : instant(ms));
const parsed = (text: string | null): unknown => (text === null ? null : JSON.parse(text));

export interface ViewPorts {
  readonly store: Store;
  now(): number;
  sign(path: string, expiresAtMs: number): string;
  readonly asOf: NormalOptions["asOf"];
  readonly urlLifeMs: number;
}

export function logItem(row: EventRow) {
  const { id, level, event, message, source } = row;
  return { id, timestamp: instant(row.at), level, event, message, source, data: parsed(row.data) };
}

/** Returns the job's cost, or no fields while the cost is hidden. A chat's cost is known only once the chat ends. */
function costOf(job: JobRow, now: number) {
  if (job.costShownAt > now || (job.kind === "chat" && job.completedAt === null)) return {};
  return { cost: usd(job.chargedMicros - job.refundedMicros), currency: "USD" };
}

const qualityOf = (job: JobRow) => (job.quality === null ? {} : { quality: job.quality });
const completedAtOf = (job: JobRow) => (job.completedAt === null ? {} : { completed_at: instant(job.completedAt) });

export function jobViews({ store, now, sign, asOf, urlLifeMs }: ViewPorts) {
  function isExpired(output: OutputRow, job: JobRow): boolean {
    if (output.status === "EXPIRED") return true;
    const isOver = job.expiresAt !== null && job.expiresAt <= now();
    return isOver && output.status === "COMPLETED" && output.voiceId === null;
  }

  function urlOf(output: OutputRow, job: JobRow): string {
    const until = Math.min(now() + urlLifeMs, job.expiresAt ?? Number.MAX_SAFE_INTEGER);
    return sign(`/media/${output.assetId}`, until);
  }

  function output(row: OutputRow, job: JobRow) {
    const expired = isExpired(row, job);
    const usable = !expired && row.status === "COMPLETED" && row.assetId !== null;
    return {
      status: expired ? "EXPIRED" : row.status,
      asset_id: usable ? row.assetId : null,
      voice_id: row.status === "COMPLETED" ? row.voiceId : null,
      url: usable ? urlOf(row, job) : null,
      content_type: row.contentType,
      width: row.width,
      height: row.height,
      duration_ms: row.durationMs,
      fps: row.fpsShownAt !== null && row.fpsShownAt > now() ? null : row.fps,
      error: expired ? null : parsed(row.error),
      ...(asOf === "3.9" ? {} : { expires_at: usable ? instantOrNull(job.expiresAt) : null }),
    };
  }

  function metricsOf(job: JobRow) {
    const isMeasured = job.status === "COMPLETED" || (job.kind === "chat" && job.status === "FAILED");
    if (!isMeasured) return {};
    const took = job.completedAt !== null && job.startedAt !== null ? job.completedAt - job.startedAt : null;
    const chat = job.kind === "chat" ? store.chats.ofJob(job.seq) : undefined;
    if (!chat || chat.promptTokens === null) return { metrics: { processing_time_ms: took } };
    return {
      usage: {
        prompt_tokens: chat.promptTokens,
        completion_tokens: chat.completionTokens,
        reasoning_tokens: chat.reasoningTokens,
        estimated: false,
      },
      metrics: { processing_time_ms: took, time_to_first_token_ms: chat.firstTokenMs },
    };
  }

  return {
    summary: (job: JobRow) => ({
      job_id: job.jobId,
      model: job.model,
      ...qualityOf(job),
      status: job.status,
      created_at: instant(job.createdAt),
      ...completedAtOf(job),
      ...costOf(job, now()),
    }),

    /** Returns a job's result. In the payload of a webhook, it has no logs and no cost. */
    result(job: JobRow, part: "all" | "payload" = "all") {
      const isDeleted = job.deletedAt !== null;
      const logs = () => store.events.latest(job.seq, LOGS_IN_RESULT).map(logItem);
      return {
        job_id: job.jobId,
        model: job.model,
        ...qualityOf(job),
        status: job.status,
        ...(job.prompt === null ? {} : { prompt: job.prompt }),
        outputs: job.status === "COMPLETED" ? store.outputs.ofJob(job.seq).map((row) => output(row, job)) : [],
        ...metricsOf(job),
        error: parsed(job.error),
        ...(isDeleted || part === "payload" ? {} : { logs: logs() }),
        ...(part === "payload" ? {} : costOf(job, now())),
        ...(asOf === "3.9" ? { created_at: instant(job.createdAt), ...completedAtOf(job) } : {}),
      };
    },

    status(job: JobRow) {
      const estimate = estimatedCompletion(job, store.modelRuns.averageMs(job.model), now());
      return {
        job_id: job.jobId,
        status: job.status,
        progress: progressOf(job, now()),
        estimated_completion_at: instantOrNull(estimate),
      };
    },
  };
}

export type JobViews = ReturnType<typeof jobViews>;
