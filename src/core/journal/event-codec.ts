import { isNewerVersion, ownVersion } from "../kit/own-version.ts";
import { JournalCorruptError, JournalNewerVersionError, JournalRecordError } from "./errors.ts";
import { EVENT_VERSION, isEventType, type RunEvent, type StoredEvent } from "./events.ts";

/** The stored events of one commit. `body` is the JSON of an event or of an array of events. */
export interface EventRecord {
  /** Sequence number of the record's last event. */
  readonly seq: number;
  readonly at: number;
  readonly version: number;
  readonly body: string;
}

export interface RecordOrigin {
  readonly path: string;
  readonly runId: string;
  /**
   * Returns the JSON of the run's last `lease.acquired` event before `seq`. It names the program version that wrote
   * event `seq`.
   */
  readonly signature: (seq: number) => string | null;
}

/** Encodes events as JSON. Throws if one is invalid, so call this before the transaction starts. */
export function encodeEvents(events: readonly RunEvent[]): string {
  for (const event of events) {
    if (isEvent(event)) continue;
    throw new JournalRecordError("An event has no valid `type`; nothing was written. Correct the calling code.");
  }
  return JSON.stringify(events.length === 1 ? events[0] : events);
}

export function decodeEvents(records: Iterable<EventRecord>, afterSeq: number, origin: RecordOrigin): StoredEvent[] {
  const { runId } = origin;
  const events: StoredEvent[] = [];
  let lastSeq = afterSeq;
  for (const { seq: endSeq, at, version, body } of records) {
    const where = (seq: number) => `Event ${seq} of run "${runId}" in ${origin.path}`;
    if (version > EVENT_VERSION) throw newerVersion(where(lastSeq + 1), version, origin);
    const parsed = parseBody(body);
    const all: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
    const firstSeq = endSeq - all.length + 1;
    if (all.length === 0) throw unreadable(where(endSeq), origin);
    if (firstSeq > lastSeq + 1 || endSeq <= lastSeq) throw missing(lastSeq + 1, firstSeq, origin);
    for (let seq = lastSeq + 1; seq <= endSeq; seq += 1) {
      const event = all[seq - firstSeq];
      if (!isEvent(event))
        throw isTyped(event) ? unknownType(event, where(seq), endSeq, origin) : unreadable(where(seq), origin);
      events.push({ runId, seq, at, version, event });
    }
    lastSeq = endSeq;
  }
  return events;
}

function newerVersion(where: string, version: number, { path }: RecordOrigin): JournalNewerVersionError {
  return new JournalNewerVersionError(
    path,
    `${where} has version ${version}; this version of Showrunner reads events up to version ${EVENT_VERSION}. Update Showrunner to read the event.`,
  );
}

function unreadable(where: string, { path }: RecordOrigin): JournalCorruptError {
  return new JournalCorruptError(
    path,
    `${where} cannot be read: the file is damaged. Restore it from a copy. Other runs in the damaged file may be intact.`,
  );
}

function missing(expected: number, found: number, { path, runId }: RecordOrigin): JournalCorruptError {
  return new JournalCorruptError(
    path,
    `Run "${runId}" in ${path} has event ${found} in place of event ${expected}: the file is damaged. Restore it from a copy.`,
  );
}

function unknownType({ type }: Typed, where: string, seq: number, { path, signature }: RecordOrigin): Error {
  const ourVersion = ownVersion();
  const what = `${where} has the type ${JSON.stringify(type)}, which this version of Showrunner (${ourVersion}) does not recognize.`;
  const signed = parseBody(signature(seq) ?? "") as { readonly program?: unknown } | undefined;
  const restore = "Restore the file from a copy, but keep the damaged file: other runs in it may be intact.";
  if (typeof signed?.program !== "string") {
    return new JournalCorruptError(
      path,
      `${what} The version that wrote the event is not recorded. If a newer version of Showrunner wrote it, use that version; otherwise the file is damaged. ${restore}`,
    );
  }
  const { program } = signed;
  if (!isNewerVersion(program, ourVersion)) {
    return new JournalCorruptError(
      path,
      `${what} Showrunner ${program}, which wrote this part of the run, does not recognize the type either, so the file is damaged. ${restore}`,
    );
  }
  return new JournalNewerVersionError(
    path,
    `${what} Showrunner ${program} wrote the event: use that version or a later one for this run. Nothing was changed.`,
  );
}

export const SIGNED_BODY = '{"type":"lease.acquired"';

function parseBody(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

interface Typed {
  readonly type: string;
}

function isEvent(value: unknown): value is RunEvent {
  return isObjectWithType(value) && isEventType(value.type);
}

function isTyped(value: unknown): value is Typed {
  return isObjectWithType(value) && /^[a-z]+(\.[a-z]+)+$/.test(value.type);
}

function isObjectWithType(value: unknown): value is Typed {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}
