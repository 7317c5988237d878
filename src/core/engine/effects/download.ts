import { answerOf, DownloadError } from "../../api/index.ts";
import type { RunEvent } from "../../journal/events.ts";
import type { OutputState } from "../../journal/state.ts";
import { type CleanText, cleanContentType, cleanText, sentence } from "../../kit/clean-text.ts";
import { temporaryTag } from "../../kit/durable-file.ts";
import { HOUR_MS } from "../../kit/duration.ts";
import { LongWork } from "../../kit/long-work.ts";
import { ownVersion } from "../../kit/own-version.ts";
import type { Command } from "../../run/command.ts";
import { runOutcome, type UnplacedOutput } from "../../run/outcome.ts";
import { RETENTION_MS } from "../../run/retention.ts";
import { fileExtension } from "../media/file-extension.ts";
import { DamagedOutputError, downloadOutput } from "../media/output-damage.ts";
import { plannedMark } from "../provenance/planned-mark.ts";
import { manifestName, manifestOf, placeManifests } from "../provenance/provenance.ts";
import { isNewDoubt, judge } from "../service/service-answers.ts";
import { bytesProgress, deferToNextDrive, done, type Effect, type EffectContext, type EffectResult } from "./effect.ts";
import { withoutCopies } from "./ensure-copies.ts";
import { folderFor } from "./placed-files.ts";
import { retryOrPause } from "./retry-or-pause.ts";

/** So many named files are written down at a time: what waits for a commit waits some milliseconds. */
const RECORDED_AT_ONCE = 250;
/** Before submits (100 to 150): paid outputs are downloaded before new work is requested. */
const FIRST = 300;

/** Of an output of which an earlier answer said nothing. */
const UNSTATED = { contentType: null, width: null, height: null, durationMs: null };

type Download = Extract<Command, { readonly type: "download" }>;

/** Copies one output into the media store while the service still keeps it. */
export const download: Effect<"download"> = async (command, context) => {
  const { client, media, signal, freshUrls } = context;
  const { step, attempt, jobId, index } = command;
  const priority = { level: urgency(command, context), turn: context.turn };
  try {
    const target = media.tmpPath();
    const url = freshUrls.get(`${jobId} ${index}`);
    freshUrls.delete(`${jobId} ${index}`);
    const facts = outputOf(command, context);
    const got = await downloadOutput(
      client,
      { jobId, outputIndex: index, assetId: facts?.assetId, url },
      { target, stated: facts ?? UNSTATED, signal, priority, onProgress: bytesProgress(step, context) },
    );
    const { sha256, sizeBytes } = await media.adopt(target);
    const contentType = facts?.contentType ?? cleanContentType(got.contentType) ?? "application/octet-stream";
    return done({ type: "output.downloaded", step, attempt, index, sha256, sizeBytes, contentType });
  } catch (error) {
    if (error instanceof DamagedOutputError) {
      return uncopied(command, context, sentence`what came is damaged: ${cleanText(error.damage)}`);
    }
    // Only the service's answer about the job proves that the output is deleted, never the server that stores the bytes.
    const isOfService = error instanceof DownloadError && error.status === null;
    if (isOfService && (error.reason === "expired" || error.reason === "no-url"))
      return saysLess(command, context, error);
    const judged = error instanceof DownloadError && answerOf(error) === null ? null : judge("download", error);
    if (judged !== null && judged.verdict !== "no copy") return retryOrPause(judged, context);
    const message = cleanText((error as Error).message);
    return uncopied(command, context, message, error instanceof DownloadError && CERTAIN.has(error.reason));
  }
};

/** Another try would go the same way: the next resume tries it, under a URL or with options that may have changed. */
const CERTAIN: ReadonlySet<DownloadError["reason"]> = new Set(["refused", "too-large", "forbidden-address"]);

/** It is said at once, and tried again: soon, unless that is certain to fail, or by the next resume. */
function uncopied(command: Download, context: EffectContext, message: CleanText, isCertain = false): EffectResult {
  const { step, attempt, index } = command;
  const isNews = outputOf(command, context)?.uncopied !== message;
  const events: readonly RunEvent[] = isNews ? [{ type: "output.uncopied", step, attempt, index, message }] : [];
  return isCertain ? deferToNextDrive(...events) : { end: "refused", events, otherwise: [] };
}

function outputOf({ step, attempt, index }: Download, { state }: EffectContext): OutputState | undefined {
  return state.steps[step]?.attempts[attempt - 1]?.outputs[index];
}

/** The service listed the output, and now it does not: its first word stands for a while, and once it may have expired no more. */
function saysLess(
  { step, attempt, index }: Download,
  { state, now }: EffectContext,
  { reason, message }: DownloadError,
): EffectResult {
  const { completedAt, doubt } = state.steps[step]!.attempts[attempt - 1]!;
  const expired: readonly RunEvent[] = reason === "expired" ? [{ type: "output.expired", step, attempt, index }] : [];
  if (expired.length > 0 && now() >= (completedAt ?? 0) + RETENTION_MS) return done(...expired);
  const doubtText = sentence`it was completed with output ${index}, and now ${cleanText(message)}`;
  const isNews = isNewDoubt(doubt, doubtText, now());
  const events: readonly RunEvent[] = isNews ? [{ type: "job.doubted", step, attempt, message: doubtText }] : [];
  return { end: "refused", events, otherwise: expired };
}

/** The oldest first: the service keeps outputs for 48 h only. */
function urgency(
  { step, attempt }: { readonly step: string; readonly attempt: number },
  context: EffectContext,
): number {
  const now = context.now();
  const completedAt = context.state.steps[step]?.attempts[attempt - 1]?.completedAt ?? now;
  return FIRST + Math.min(RETENTION_MS, Math.max(0, now - completedAt)) / HOUR_MS;
}

/**
 * Gives every returned output its name in the run's folder, with a manifest beside it. A crash before the events are
 * written down places all of it again, with the same content.
 */
export const place: Effect<"place"> = async (_command, context) => {
  const { media, state } = context;
  const { outDir, manifests } = state.planned;
  const tag = temporaryTag(state.planned.nonce);
  const ready: UnplacedOutput[] = [];
  // What is to be placed was looked up in this turn already, to decide on this.
  await new LongWork().pause(state.planned.plan.steps.length);
  let rest = done();
  for (const unplaced of runOutcome(state).toPlace) {
    const lacks = await withoutCopies([unplaced.output.copy!.sha256], context);
    if (rest.end === "done" && lacks !== null) rest = lacks;
    if (lacks === null) ready.push(unplaced);
  }
  const named: Awaited<ReturnType<typeof namedCopy>>[] = [];
  for (const unplaced of ready) named.push(await namedCopy(unplaced, context));
  const folder = await folderFor(state, named);
  const copies = named.map((file) => ({ ...file, name: `${folder}${file.name}` }));
  const files = await media.place(copies, outDir, tag);
  const placed = ready.map((unplaced, at) => ({ ...unplaced, marked: named[at]!.marked, file: files[at]! }));
  if (manifests !== false) await placeManifests(outDir, placed, (named) => manifestOf(state, named, ownVersion()), tag);
  const events = placed.map(({ name, step, output: { index }, file }): RunEvent => {
    const event = { type: "file.placed", name, step, index, file } as const;
    return manifests === false ? event : { ...event, manifest: manifestName(file) };
  });
  while (events.length > RECORDED_AT_ONCE) {
    context.emit(events.splice(0, RECORDED_AT_ONCE));
    await context.recorded();
  }
  return { ...rest, events: [...events, ...rest.events] };
};

async function namedCopy({ name, step, output: { copy } }: UnplacedOutput, { state, media }: EffectContext) {
  const { sha256, contentType } = copy!;
  const marked = await plannedMark(state, { step, copy: copy! }, media);
  const placedSha256 = marked?.preview.status === "marked" ? marked.preview.sha256 : sha256;
  const file = `${name}${fileExtension(contentType)}`;
  return { sha256, name: file, placedSha256, marked, ...(marked && { mark: marked.mark }) };
}
