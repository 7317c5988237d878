import { mkdir, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { formatDuration } from "../../core/kit/duration.ts";
import { isPostgresUrl, shownJournal } from "../../core/kit/journal-location.ts";
import { formatBytes } from "../../core/kit/value-text.ts";
import type { RunRow } from "../../core/view/index.ts";
import { usageError } from "../cli-error.ts";
import { journalFolderOf, journalOf, mediaOptionsOf } from "../context.ts";
import { explainError } from "../explain-error.ts";
import type { Io } from "../io.ts";
import type { ServiceFlags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { counted } from "../text/table.ts";

/** `unknown` means that the check was not requested or is impossible on this machine. */
export interface Finding {
  readonly check: string;
  readonly state: "ok" | "fail" | "unknown";
  readonly detail: string;
  readonly next: string | null;
}

export function fine(check: string, detail: string): Finding {
  return { check, state: "ok", detail, next: null };
}

export function failed(check: string, detail: string, next: string): Finding {
  return { check, state: "fail", detail, next };
}

export function unknown(check: string, detail: string, next: string | null = null): Finding {
  return { check, state: "unknown", detail, next };
}

const LITTLE_ROOM_BYTES = 500_000_000;
const LOOKED_AT = 50;

export async function journalFindings(io: Io, flags: ServiceFlags): Promise<readonly Finding[]> {
  const location = journalOf(io, flags);
  try {
    const { openJournal } = await import("../../index.ts");
    const store = await openJournal(location);
    try {
      const rows = await store.runs();
      await readNewest(rows, (runId) => store.read(runId));
      const unfinished = rows.filter(({ status }) => status === "running" || status === "paused").length;
      const said = `${counted(rows.length, "run")}, ${unfinished} unfinished, ${await factsOf(location)}, newest runs verified: ${visible(shownJournal(location))}`;
      const folder = visible(dirname(location));
      return [
        store.isReadOnly === true
          ? failed(
              "journal",
              `${visible(location)} can be read, but not written by this user`,
              `make the folder ${folder} and the files of the journal writable, then run the command again`,
            )
          : fine("journal", said),
        await diskSpace(journalFolderOf(io, flags)),
        await telling(io, await store.notices()),
      ];
    } finally {
      await store.close();
    }
  } catch (error) {
    const { message, next } = explainError(error, { env: io.env });
    return [failed("journal", message, next)];
  }
}

async function factsOf(location: string): Promise<string> {
  if (!isPostgresUrl(location)) return formatBytes((await stat(location)).size);
  const { describeDatabase } = await import("../../core/engine/index.ts");
  const { version, isPooled, roundTripMs } = await describeDatabase(location);
  const pooled = isPooled ? " behind a pooler, which does not forward notifications" : "";
  return `PostgreSQL ${visible(version)}${pooled}, ${roundTripMs.toFixed(1)} ms away`;
}

/** A gap in the numbers of events means that the journal is damaged. */
async function readNewest(
  rows: readonly RunRow[],
  read: (runId: string) => Promise<readonly { readonly seq: number }[]>,
): Promise<void> {
  for (const { runId, lastSeq } of rows.slice(0, LOOKED_AT)) {
    const events = await read(runId);
    if (events.length >= lastSeq && events.every(({ seq }, at) => seq === at + 1)) continue;
    throw usageError(`Events of run ${visible(runId)} are missing`, "restore the journal from a copy");
  }
}

async function telling(io: Io, untold: readonly { readonly lastError: string | null }[]): Promise<Finding> {
  const { openNotifications } = await import("../../core/engine/index.ts");
  const { target } = openNotifications({ env: io.env });
  const refused = untold.find(({ lastError }) => lastError !== null);
  if (refused !== undefined) {
    const said = `${untold.length} not delivered to ${visible(target ?? "any target")}: ${visible(refused.lastError ?? "")}`;
    return failed("notify", said, "showrunner notify test   (list them with showrunner notify list)");
  }
  const nobody = "off; to be notified when a run waits, set SHOWRUNNER_NOTIFY_URL or SHOWRUNNER_NOTIFY_COMMAND";
  return fine("notify", target === null ? nobody : `notifications go to ${visible(target)}`);
}

async function diskSpace(folder: string): Promise<Finding> {
  // With a database, the folder may not exist yet.
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const said = `${formatBytes(free)} free for journal and media`;
  return free < LITTLE_ROOM_BYTES
    ? failed("disk", said, "showrunner gc   (removes old finished runs and their media)")
    : fine("disk", said);
}

/** Well below the 15 minutes at which servers refuse requests. */
const MUCH_SKEW_MS = 5 * 60_000;
/** Smaller clock differences are ignored, because the `Date` header has whole seconds. */
const NO_SKEW_MS = 2_000;

export async function mediaFindings(io: Io, flags: ServiceFlags): Promise<readonly Finding[]> {
  const options = mediaOptionsOf(io, flags);
  try {
    const { checkMedia } = await import("../../core/engine/index.ts");
    const { location, clockOffsetMs } = await checkMedia(options);
    const can = fine("media", `files in ${visible(location)} can be written, read and deleted`);
    return clockOffsetMs === null ? [can] : [can, clockFinding("bucket clock", "bucket", clockOffsetMs, MUCH_SKEW_MS)];
  } catch (error) {
    const { message, next } = explainError(error, { env: io.env });
    return [failed("media", message, next)];
  }
}

export function clockFinding(check: string, server: string, offsetMs: number, mostMs: number): Finding {
  const differsMs = Math.abs(offsetMs);
  if (differsMs <= NO_SKEW_MS) return fine(check, "agrees with this machine's clock");
  const detail = `the ${server}'s clock is ${formatDuration(differsMs)} ${offsetMs > 0 ? "ahead of" : "behind"} this machine's`;
  return differsMs <= mostMs ? fine(check, detail) : failed(check, detail, "synchronize this machine's clock (NTP)");
}
