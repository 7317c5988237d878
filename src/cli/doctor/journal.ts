import { mkdir, stat, statfs } from "node:fs/promises";
import { formatBytes } from "../../byte-size.ts";
import type { NoticeRow, RunRow } from "../../index.ts";
import { isPostgresUrl, shownJournal } from "../../journal-location.ts";
import { CliError } from "../cli-error.ts";
import { journalFolderOf, journalOf, type ServiceFlags } from "../context.ts";
import { explainError } from "../explain-error.ts";
import type { Io } from "../io.ts";
import { visible } from "../text/escape.ts";
import { counted } from "../text/table.ts";
import { type Finding, failed, fine } from "./finding.ts";

/** With less disk space than this, a film may not fit any more. */
const LITTLE_ROOM_BYTES = 500_000_000;
/** Newest runs that are read whole. */
const LOOKED_AT = 50;

/** Opens the journal, which checks it, and reports its contents and the free disk space. */
export async function journalFindings(io: Io, flags: ServiceFlags): Promise<readonly Finding[]> {
  const location = journalOf(io, flags);
  try {
    const { openJournal } = await import("../../index.ts");
    const store = await openJournal(location);
    try {
      const rows = await store.runs();
      await readNewest(rows, (runId) => store.read(runId));
      const unfinished = rows.filter(({ status }) => status === "running" || status === "paused").length;
      const said = `${counted(rows.length, "run")}, ${unfinished} unfinished, ${await factsOf(location)}, the newest read whole: ${visible(shownJournal(location))}`;
      return [
        fine("journal", said),
        await diskSpace(journalFolderOf(io, flags)),
        await telling(io, await store.notices()),
      ];
    } finally {
      await store.close();
    }
  } catch (error) {
    const { message, next } = error instanceof CliError ? error : explainError(error, { env: io.env });
    return [failed("journal", message, next)];
  }
}

/** The file's size, or what the database is. */
async function factsOf(location: string): Promise<string> {
  if (!isPostgresUrl(location)) return formatBytes((await stat(location)).size);
  const { describeDatabase } = await import("../../index.ts");
  const { version, isPooled, roundTripMs } = await describeDatabase(location);
  const pooled = isPooled ? " behind a pooler, which passes no notifications on" : "";
  return `PostgreSQL ${visible(version)}${pooled}, ${roundTripMs.toFixed(1)} ms away`;
}

/** Events number from 1 without a gap; anything else was damaged or cut. */
async function readNewest(
  rows: readonly RunRow[],
  read: (runId: string) => Promise<readonly { readonly seq: number }[]>,
): Promise<void> {
  for (const { runId, lastSeq } of rows.slice(0, LOOKED_AT)) {
    const events = await read(runId);
    if (events.length >= lastSeq && events.every(({ seq }, at) => seq === at + 1)) continue;
    throw new CliError("USAGE", `Run ${visible(runId)} has gaps in its events`, {
      next: "restore the journal from a copy",
    });
  }
}

/** Whether a notification target is set, and which notifications are undelivered. */
async function telling(io: Io, untold: readonly NoticeRow[]): Promise<Finding> {
  const { openNotifications } = await import("../../index.ts");
  const { target } = openNotifications({ env: io.env });
  const refused = untold.find(({ lastError }) => lastError !== null);
  if (refused !== undefined) {
    const said = `${untold.length} not delivered to ${visible(target ?? "anybody")}: ${visible(refused.lastError ?? "")}`;
    return failed("notify", said, "showrunner notify test   (showrunner notify list shows them)");
  }
  const nobody = "nobody is told when a run waits for a person; SHOWRUNNER_NOTIFY_URL or _COMMAND says whom";
  return fine("notify", target === null ? nobody : `${visible(target)} is told`);
}

async function diskSpace(folder: string): Promise<Finding> {
  // Beside a database the folder may not be there yet.
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const said = `${formatBytes(free)} free for journal and media`;
  return free < LITTLE_ROOM_BYTES
    ? failed("disk", said, "showrunner gc   (removes old finished runs and their media)")
    : fine("disk", said);
}
