import { JournalCorruptError, JournalNewerVersionError, JournalRecordError } from "./errors.ts";
import { EVENT_VERSION, type RunEvent, type StoredEvent } from "./events.ts";

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
}

/** JSON text of an event, made before the transaction starts so that a bad value cannot tear one. */
export function encodeEvent(event: RunEvent): string {
  const body = JSON.stringify(event);
  if (body === undefined || !isEventShape(JSON.parse(body))) {
    throw new JournalRecordError("An event needs a `type` like `job.submitted`; nothing was written. Fix the caller.");
  }
  return body;
}

/** Reads a record back, with a structural check only: the fold looks at the rest. */
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
  return { runId: origin.runId, seq: record.seq, at: record.at, version: record.version, event };
}

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
