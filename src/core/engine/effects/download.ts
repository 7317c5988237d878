import { ApiError, answerOf, DownloadError } from "../../api/index.ts";
import type { RunEvent } from "../../journal/events.ts";
import { attemptOf, type OutputState } from "../../journal/state.ts";
import { type CleanText, cleanContentType, cleanText, sentence } from "../../kit/clean-text.ts";
import { HOUR_MS } from "../../kit/duration.ts";
import type { Command } from "../../run/command.ts";
import { isOver } from "../../run/retention.ts";
import { DamagedOutputError, downloadOutput } from "../media/output-damage.ts";
import {
  deferToNextDrive,
  done,
  type EffectResult,
  isNewDoubt,
  judge,
  retryOrPause,
} from "../service/service-answers.ts";
import { bytesProgress, type Effect, type EffectContext } from "./effect.ts";

/** Priority level that puts downloads of paid outputs ahead of requests for new work. */
const FIRST = 300;

const UNSTATED = { contentType: null, width: null, height: null, durationMs: null };

type Download = Extract<Command, { readonly type: "download" }>;

export const download: Effect<"download"> = async (command, context) => {
  const { client, media, signal, freshUrls } = context;
  const { step, attempt, jobId, index } = command;
  const priority = { level: urgency(command, context), turn: context.turn };
  try {
    const target = media.tmpPath();
    const fresh = freshUrls.get(`${jobId} ${index}`);
    freshUrls.delete(`${jobId} ${index}`);
    const facts = outputOf(command, context);
    const got = await downloadOutput(
      client,
      { jobId, outputIndex: index, assetId: facts?.assetId, ...fresh },
      { target, stated: facts ?? UNSTATED, signal, priority, onProgress: bytesProgress(step, context) },
    );
    const { sha256, sizeBytes } = await media.adopt(target);
    const contentType = facts?.contentType ?? cleanContentType(got.contentType) ?? "application/octet-stream";
    return done({ type: "output.downloaded", step, attempt, index, sha256, sizeBytes, contentType });
  } catch (error) {
    if (error instanceof DamagedOutputError) {
      return uncopied(command, context, sentence`the downloaded file is damaged: ${cleanText(error.damage)}`);
    }
    // Only the service can prove that the output is deleted. A response from the storage server is not proof.
    const isOfService = error instanceof DownloadError && error.status === null;
    if (isOfService && (error.reason === "expired" || error.reason === "no-url"))
      return saysLess(command, context, error);
    const judged = error instanceof DownloadError && answerOf(error) === null ? null : judge("download", error);
    if (judged !== null && judged.verdict !== "no copy") return retryOrPause(judged, context);
    const message = cleanText((error as Error).message);
    const reason = error instanceof DownloadError ? error.reason : null;
    // A response without the service's envelope may come from a proxy, which knows nothing about the job.
    const isRefused = reason === "expired" || reason === "refused" || (error instanceof ApiError && error.envelope);
    return uncopied(command, context, message, { isCertain: reason !== null && CERTAIN.has(reason), isRefused });
  }
};

/** Failures that an immediate retry would repeat. */
const CERTAIN: ReadonlySet<DownloadError["reason"]> = new Set(["refused", "too-large", "forbidden-address"]);

/** Records a failed download. If the service keeps refusing an expired output, records the output as gone. */
function uncopied(
  command: Download,
  context: EffectContext,
  message: CleanText,
  { isCertain = false, isRefused = false } = {},
): EffectResult {
  const { step, attempt, index } = command;
  const isNews = outputOf(command, context)?.uncopied !== message;
  const events: readonly RunEvent[] = isNews ? [{ type: "output.uncopied", step, attempt, index, message }] : [];
  const isGone = isRefused && mayBeGone(command, context);
  if (isCertain && !isGone) return deferToNextDrive(...events);
  return { end: "refused", events, otherwise: isGone ? [{ type: "output.expired", step, attempt, index }] : [] };
}

function outputOf({ step, attempt, index }: Download, { state }: EffectContext): OutputState | undefined {
  const { outputs, attempts } = state.steps[step] ?? {};
  return (attempt === 0 ? outputs : attempts?.[attempt - 1]?.outputs)?.[index];
}

/** Returns true if the output has expired by both the service's clock and this machine's clock. */
function mayBeGone(command: Download, context: EffectContext): boolean {
  const now = context.now();
  return isOver(outputOf(command, context) ?? {}, Math.min(now, now + context.client.clockOffsetMs()));
}

/**
 * Handles an output that the service reports as expired or no longer lists. Records it as gone if it is reported as
 * expired and its expiry time has passed. Otherwise, the download is retried; after the last retry, either condition is
 * enough to record it as gone.
 */
function saysLess(command: Download, context: EffectContext, { reason, message }: DownloadError): EffectResult {
  const { step, attempt, index } = command;
  const { state, now } = context;
  const gone: RunEvent = { type: "output.expired", step, attempt, index };
  const isExpired = reason === "expired";
  const mayBe = attempt === 0 || mayBeGone(command, context);
  if (isExpired && (mayBe || outputOf(command, context)?.phase === "lapsed")) return done(gone);
  const otherwise = isExpired || mayBe ? [gone] : [];
  if (attempt === 0) return { end: "refused", events: [], otherwise };
  const { doubt } = attemptOf(state, command);
  const doubtText = sentence`the job completed, but its output ${index} cannot be downloaded: ${cleanText(message)}`;
  const isNews = isNewDoubt(doubt, doubtText, now());
  const events: readonly RunEvent[] = isNews ? [{ type: "job.doubted", step, attempt, message: doubtText }] : [];
  return { end: "refused", events, otherwise };
}

function urgency(command: Download, context: EffectContext): number {
  const { expiresAt = Number.POSITIVE_INFINITY } = outputOf(command, context) ?? {};
  return FIRST + 24 / (1 + Math.max(0, expiresAt - context.now()) / HOUR_MS);
}
