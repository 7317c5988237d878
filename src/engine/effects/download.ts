import { rm } from "node:fs/promises";
import { answerOf, DownloadError, type Downloaded, MalformedResponseError } from "../../api/index.ts";
import { cleanContentType } from "../../clean-text.ts";
import { temporaryTag } from "../../durable-file.ts";
import type { RunEvent } from "../../journal/events.ts";
import { LongWork } from "../../long-work.ts";
import { ownVersion } from "../../own-version.ts";
import { runOutcome, type UnplacedOutput } from "../../run/outcome.ts";
import { RETENTION_MS } from "../../run/view/expiry.ts";
import { fileExtension } from "../media/file-extension.ts";
import { manifestName, manifestOf, placeManifests } from "../provenance/provenance.ts";
import { judge } from "../service/service-answers.ts";
import { bytesProgress, type Effect, type EffectContext, type EffectResult } from "./effect.ts";
import { withoutCopies } from "./ensure-copies.ts";
import { retryOrPause } from "./retry-or-pause.ts";

/** So many named files are written down at a time: what waits for a commit waits some milliseconds. */
const RECORDED_AT_ONCE = 250;
/** Before submits (100 to 150): paid outputs are downloaded before new work is requested. */
const FIRST = 300;
const HOUR_MS = 3_600_000;

/** Copies one output into the media store while the service still keeps it. */
export const download: Effect<"download"> = async (command, context) => {
  const { client, media, signal, state, freshUrls } = context;
  const { step, attempt, jobId, index } = command;
  const priority = { level: urgency(command, context), turn: context.turn };
  try {
    const target = media.tmpPath();
    const url = freshUrls.get(`${jobId} ${index}`);
    freshUrls.delete(`${jobId} ${index}`);
    const got = await client.download({ jobId, outputIndex: index, url }, target, {
      signal,
      priority,
      onProgress: bytesProgress(step, context),
    });
    const facts = state.steps[step]?.attempts[attempt - 1]?.outputs[index];
    if (isNoMedia(got, facts?.contentType ?? null)) {
      await rm(target, { force: true });
      const came = got.sizeBytes === 0 ? "nothing" : got.contentType;
      const issue = `${came} came instead of ${facts?.contentType ?? "media"}`;
      throw new MalformedResponseError(`The download of output ${index} of ${jobId}`, [issue], { isJson: false });
    }
    const { sha256, sizeBytes } = await media.adopt(target);
    const contentType = facts?.contentType ?? cleanContentType(got.contentType) ?? "application/octet-stream";
    return { events: [{ type: "output.downloaded", step, attempt, index, sha256, sizeBytes, contentType }] };
  } catch (error) {
    // Only the service's answer about the job proves that the output is deleted, never the server that stores the bytes.
    if (error instanceof DownloadError && error.reason === "expired" && error.status === null) {
      return { events: [{ type: "output.expired", step, attempt, index }] };
    }
    if (error instanceof DownloadError && answerOf(error) === null) return { events: [], refused: [] };
    const judged = judge("download", error);
    return judged.verdict === "no copy" ? { events: [], refused: [] } : retryOrPause(judged, context);
  }
};

/** What a network that asks for a login, or a proxy, sends in place of anything: a page, an error of its own, nothing. */
function isNoMedia({ contentType, sizeBytes }: Downloaded, requested: string | null): boolean {
  if (sizeBytes === 0) return true;
  if (requested === null) return contentType?.startsWith("text/html") === true;
  const isPage = /^(?:text\/|application\/(?:json|xml|xhtml|problem))/.test(contentType ?? "");
  return isPage && typeOf(contentType) !== typeOf(requested);
}

function typeOf(contentType: string | null): string | undefined {
  return contentType?.split(/[/;]/)[0];
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
  let without: EffectResult | null = null;
  for (const unplaced of runOutcome(state).toPlace) {
    const lacks = await withoutCopies([unplaced.output.copy!.sha256], context);
    without ??= lacks;
    if (lacks === null) ready.push(unplaced);
  }
  const copies = ready.map(({ name, output: { copy } }) => {
    return { sha256: copy!.sha256, name: `${name}${fileExtension(copy!.contentType)}` };
  });
  const files = await media.place(copies, outDir, tag);
  const placed = ready.map((unplaced, at) => ({ ...unplaced, file: files[at]! }));
  if (manifests !== false) await placeManifests(outDir, placed, (named) => manifestOf(state, named, ownVersion()), tag);
  const events = placed.map(({ name, step, output: { index }, file }): RunEvent => {
    const event = { type: "file.placed", name, step, index, file } as const;
    return manifests === false ? event : { ...event, manifest: manifestName(file) };
  });
  while (events.length > RECORDED_AT_ONCE) {
    context.emit(events.splice(0, RECORDED_AT_ONCE));
    await context.recorded();
  }
  return { ...without, events: [...events, ...(without?.events ?? [])] };
};
