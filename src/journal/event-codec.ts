import { JournalCorruptError, JournalNewerVersionError, JournalRecordError } from "./errors.ts";
import { EVENT_VERSION, isEventType, type RunEvent, type StoredEvent } from "./events.ts";
import { isNewerVersion, ownVersion } from "./own-version.ts";

/** An event as a store keeps it: the body is JSON text. */
export interface EventRecord {
  readonly seq: number;
  readonly at: number;
  readonly version: number;
  readonly body: string;
}

/** Where a record was read from, for messages. */
export interface RecordOrigin {
  readonly path: string;
  readonly runId: string;
  /** Body of the last event before `seq` that names the program which wrote what follows it; null without one. */
  readonly signature: (seq: number) => string | null;
}

/** JSON text of an event, serialised before the transaction starts so that a bad value cannot tear one. */
export function encodeEvent(event: RunEvent): string {
  const body = JSON.stringify(event);
  const read: unknown = body === undefined ? undefined : JSON.parse(body);
  if (!isEventShape(read) || !isEventType(read.type)) {
    throw new JournalRecordError("An event needs a `type` like `job.submitted`; nothing was written. Fix the caller.");
  }
  return body;
}

/** Reads a record back, with a check of its type and structure only: the fold looks at the rest. */
export function decodeEvent(record: EventRecord, origin: RecordOrigin): StoredEvent {
  const where = `Event ${record.seq} of run "${origin.runId}" in ${origin.path}`;
  if (record.version > EVENT_VERSION) {
    throw new JournalNewerVersionError(
      origin.path,
      `${where} has version ${record.version}; this Showrunner knows versions up to ${EVENT_VERSION}. Update Showrunner to read it.`,
    );
  }
  const event = parseBody(record.body);
  if (!isEventShape(event)) {
    throw new JournalCorruptError(
      origin.path,
      `${where} is not readable: the file is damaged. Restore it from a copy; other runs in it may be intact.`,
    );
  }
  if (!isEventType(event.type)) throw unknownType(event.type, where, record, origin);
  return { runId: origin.runId, seq: record.seq, at: record.at, version: record.version, event };
}

/** Skipping an unknown event would fold to a state that is not the run's. */
function unknownType(type: string, where: string, { seq }: EventRecord, { path, signature }: RecordOrigin): Error {
  const own = ownVersion();
  const what = `${where} is a ${JSON.stringify(type)}, which this Showrunner (${own}) does not know.`;
  const signed = parseBody(signature(seq) ?? "") as { readonly program?: unknown } | undefined;
  const restore = "Restore the file from a copy; other runs in it may be intact.";
  if (typeof signed?.program !== "string") {
    return new JournalCorruptError(
      path,
      `${what} It does not say which version wrote it: if a newer Showrunner did, use that one; else the file is damaged. ${restore}`,
    );
  }
  const { program } = signed;
  if (!isNewerVersion(program, own)) {
    return new JournalCorruptError(
      path,
      `${what} Showrunner ${program} wrote this part of the run and knows no such event either, so the file is damaged. ${restore}`,
    );
  }
  return new JournalNewerVersionError(
    path,
    `${what} Showrunner ${program} wrote it: use that version, or a later one, for this run. Nothing was changed.`,
  );
}

/** How the bodies of events begin that name the program which wrote them and what follows. */
export const SIGNED_BODIES = ['{"type":"lease.acquired"', '{"type":"run.planned"'] as const;

/** Events of a run have no gaps; one that is missing means damage, never "nothing happened". */
export function checkContiguous(records: readonly EventRecord[], afterSeq: number, origin: RecordOrigin): void {
  let expected = afterSeq + 1;
  for (const { seq } of records) {
    if (seq !== expected) {
      throw new JournalCorruptError(
        origin.path,
        `Run "${origin.runId}" in ${origin.path} lacks event ${expected} (found ${seq}): the file is damaged. Restore it from a copy.`,
      );
    }
    expected += 1;
  }
}

function parseBody(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function isEventShape(value: unknown): value is RunEvent {
  return (
    typeof value === "object" &&
    value !== null &&
    "type" in value &&
    typeof value.type === "string" &&
    /^[a-z]+(\.[a-z]+)+$/.test(value.type)
  );
}
