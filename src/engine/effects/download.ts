import { ApiError, DownloadError } from "../../api/index.ts";
import type { RunEvent } from "../../journal/events.ts";
import { ownVersion } from "../../journal/own-version.ts";
import { type Command, commandId } from "../../run/command.ts";
import { ending } from "../../run/ending.ts";
import { RETENTION_MS } from "../../run/expiry.ts";
import { fileExtension } from "../file-extension.ts";
import { manifestOf } from "../provenance.ts";
import { manifestName, placeManifests } from "../provenance-file.ts";
import type { Manifest } from "../provenance-schema.ts";
import { bytesProgress } from "./bytes-progress.ts";
import type { Effect, EffectContext } from "./effect.ts";
import { isPassing, TROUBLE_WAIT_MS, throwAccountTrouble } from "./service-trouble.ts";

/** Before submits (100 to 150): what is paid for comes in before anything new is asked for. */
const FIRST = 300;
const HOUR_MS = 3_600_000;
/** How long an answer that no repetition should change is asked for again, milliseconds. */
const DOUBT_MS = 120_000;

/** Since when each download of a drive is refused for good, by the drive's own signal. */
const refusedSince = new WeakMap<AbortSignal, Map<string, number>>();

/** Copies one output into the media store while the service still keeps it. */
export const download: Effect<"download"> = async (command, context) => {
  const { client, media, signal, state, freshUrls } = context;
  const { step, attempt, jobId, index } = command;
  const priority = urgency(command, context);
  try {
    const target = media.tmpPath();
    const url = freshUrls.get(`${jobId} ${index}`);
    freshUrls.delete(`${jobId} ${index}`);
    const got = await client.download({ jobId, outputIndex: index, url }, target, {
      signal,
      priority,
      onProgress: bytesProgress(step, context),
    });
    const { sha256, sizeBytes } = await media.adopt(target);
    const facts = state.steps[step]?.attempts[attempt - 1]?.outputs[index];
    const contentType = facts?.contentType ?? got.contentType ?? "application/octet-stream";
    return { events: [{ type: "output.downloaded", step, attempt, index, sha256, sizeBytes, contentType }] };
  } catch (error) {
    throwAccountTrouble(error);
    if (error instanceof DownloadError && error.reason === "expired") {
      return { events: [{ type: "output.expired", step, attempt, index }] };
    }
    if ((error as NodeJS.ErrnoException).code?.startsWith("E") === true) throw error;
    return { events: [], againInMs: waitMs(command, context, isDefinite(error)) };
  }
};

/** Whether the service says that it has no such thing, rather than that it has trouble. */
function isDefinite(error: unknown): boolean {
  if (error instanceof DownloadError) return error.reason !== "incomplete";
  return error instanceof ApiError && !isPassing(error);
}

/** Refused for good, it is asked for again for a while; then only by the next drive of the run. */
function waitMs(command: Command & { readonly type: "download" }, context: EffectContext, isDefinite: boolean): number {
  const since = refusedSince.get(context.signal) ?? new Map<string, number>();
  refusedSince.set(context.signal, since);
  const id = commandId(command);
  if (!isDefinite) {
    since.delete(id);
    return TROUBLE_WAIT_MS;
  }
  const first = since.get(id) ?? context.now();
  since.set(id, first);
  return context.now() - first < DOUBT_MS ? TROUBLE_WAIT_MS : Number.POSITIVE_INFINITY;
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
export const place: Effect<"place"> = async (_command, { media, state }) => {
  const { outDir, manifests } = state.planned;
  const events: RunEvent[] = [];
  const described: Manifest[] = [];
  for (const { name, step, output } of ending(state).toPlace) {
    const wanted = `${name}${fileExtension(output.copy!.contentType)}`;
    const file = await media.place(output.copy!.sha256, outDir, wanted);
    const placed = { type: "file.placed", name, step, index: output.index, file } as const;
    events.push(manifests === false ? placed : { ...placed, manifest: manifestName(file) });
    if (manifests !== false) described.push(manifestOf(state, { file, step, output }, ownVersion()));
  }
  await placeManifests(outDir, described);
  return { events };
};
