import { join } from "node:path";
import { answerOf, DownloadError } from "../../api/index.ts";
import type { RunEvent } from "../../journal/events.ts";
import { attemptOf, type OutputState, outputsOf, type RunState } from "../../journal/state.ts";
import { type CleanText, cleanContentType, cleanText, sentence } from "../../kit/clean-text.ts";
import { HOUR_MS } from "../../kit/duration.ts";
import { fileExtension } from "../../kit/file-name.ts";
import { temporaryTag } from "../../kit/files.ts";
import { LongWork } from "../../kit/long-work.ts";
import { ownVersion } from "../../kit/own-version.ts";
import type { Command } from "../../run/command.ts";
import { runOutcome, type UnplacedOutput } from "../../run/outcome.ts";
import { isOver } from "../../run/retention.ts";
import { measureBytes } from "../media/media-files.ts";
import type { MediaStore } from "../media/media-store.ts";
import { openNamedFile } from "../media/open-file.ts";
import { DamagedOutputError, downloadOutput } from "../media/output-damage.ts";
import { manifestName, manifestOf, placeManifests, plannedMark } from "../provenance/provenance.ts";
import {
  deferToNextDrive,
  done,
  type EffectResult,
  isNewDoubt,
  judge,
  retryOrPause,
} from "../service/service-answers.ts";
import { bytesProgress, type Effect, type EffectContext } from "./effect.ts";
import { withoutCopies } from "./ensure-copies.ts";

const RECORDED_AT_ONCE = 250;
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
    // Only the service can prove that the output is deleted. A response of the storage server is no proof.
    const isOfService = error instanceof DownloadError && error.status === null;
    if (isOfService && (error.reason === "expired" || error.reason === "no-url"))
      return saysLess(command, context, error);
    const judged = error instanceof DownloadError && answerOf(error) === null ? null : judge("download", error);
    if (judged !== null && judged.verdict !== "no copy") return retryOrPause(judged, context);
    const message = cleanText((error as Error).message);
    const reason = error instanceof DownloadError ? error.reason : null;
    return uncopied(command, context, message, {
      isCertain: reason !== null && CERTAIN.has(reason),
      isRefused: reason === "expired" || reason === "refused" || judged?.verdict === "no copy",
    });
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

/** Returns true if the output has expired by the clocks of the service and this machine. */
function mayBeGone(command: Download, context: EffectContext): boolean {
  const now = context.now();
  return isOver(outputOf(command, context) ?? {}, Math.min(now, now + context.client.clockOffsetMs()));
}

/**
 * Treats an output that the service no longer lists as available. It is gone once it may have expired and the service
 * calls it expired or keeps leaving it out.
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
  const doubtText = sentence`the job completed with output ${index}, but now ${cleanText(message)}`;
  const isNews = isNewDoubt(doubt, doubtText, now());
  const events: readonly RunEvent[] = isNews ? [{ type: "job.doubted", step, attempt, message: doubtText }] : [];
  return { end: "refused", events, otherwise };
}

function urgency(command: Download, context: EffectContext): number {
  const { expiresAt = Number.POSITIVE_INFINITY } = outputOf(command, context) ?? {};
  return FIRST + 24 / (1 + Math.max(0, expiresAt - context.now()) / HOUR_MS);
}

export const place: Effect<"place"> = async (_command, context) => {
  const { media, state } = context;
  const { outDir, manifests } = state.planned;
  const tag = temporaryTag(state.planned.nonce);
  const ready: UnplacedOutput[] = [];
  // Deciding which files to place took long, so let other work run first.
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
  const ending = fileExtension(contentType);
  // Subtitles whose name already has the extension are placed beside the film of that name.
  const file = name.toLowerCase().endsWith(ending) ? name : `${name}${ending}`;
  return { sha256, name: file, placedSha256, marked, ...(marked && { mark: marked.mark }) };
}

interface ExpectedFile {
  readonly name: string;
  readonly placedSha256: string;
}

/**
 * Returns the run's subfolder if another run or different content already uses a file name; otherwise an empty string.
 */
async function folderFor(state: RunState, copies: readonly ExpectedFile[]): Promise<string> {
  const { runId, planned, files } = state;
  const folder = `${runId}/`;
  if (files.some(({ file }) => file.startsWith(folder))) return folder;
  const placed = new Set(files.map(({ file }) => file));
  for (const { name, placedSha256 } of copies) {
    const maker = await makerOf(planned.outDir, name);
    if (maker !== null && maker !== runId) return folder;
    if (maker !== null || placed.has(name)) continue;
    const there = await hashOf(planned.outDir, name);
    if (there !== null && there !== placedSha256 && !isOfRun(state, there)) return folder;
  }
  return "";
}

async function hashOf(outDir: string, name: string): Promise<string | null> {
  try {
    await using there = await openNamedFile(join(outDir, name), [outDir]);
    return (await measureBytes(there.file.createReadStream({ autoClose: false }))).sha256;
  } catch {
    return null;
  }
}

function isOfRun({ steps }: RunState, sha256: string): boolean {
  return Object.values(steps).some(({ attempts, outputs }) =>
    [...(outputs ?? []), ...attempts.flatMap((attempt) => attempt.outputs)].some(({ copy }) => copy?.sha256 === sha256),
  );
}

const MOST_BYTES = 1024 * 1024;

async function makerOf(outDir: string, name: string): Promise<string | null> {
  try {
    await using manifest = await openNamedFile(join(outDir, manifestName(name)), [outDir]);
    const { buffer, bytesRead } = await manifest.file.read(Buffer.alloc(MOST_BYTES), 0, MOST_BYTES, 0);
    const content: unknown = JSON.parse(buffer.toString("utf8", 0, bytesRead));
    return typeof content === "object" && content !== null && "run" in content && typeof content.run === "string"
      ? content.run
      : null;
  } catch {
    return null;
  }
}

export async function placeAgain(state: RunState, media: MediaStore): Promise<void> {
  const { outDir, nonce, manifests } = state.planned;
  const tag = temporaryTag(nonce);
  for (const { step, index, file } of state.files) {
    if (await media.isPlaced(file, outDir)) continue;
    const stepState = state.steps[step];
    const output = stepState === undefined ? undefined : outputsOf(stepState)[index];
    const copy = output?.copy ?? null;
    if (copy === null || (await media.verify(copy.sha256)) !== "intact") continue;
    const marked = await plannedMark(state, { step, copy }, media);
    const named = { sha256: copy.sha256, name: file, ...(marked && { mark: marked.mark }) };
    await media.place([named], outDir, tag);
    if (manifests === false) continue;
    await placeManifests(
      outDir,
      [{ file, step, output: output!, marked }],
      (placed) => manifestOf(state, placed, ownVersion()),
      tag,
    );
  }
}
