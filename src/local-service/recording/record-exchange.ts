import type { IncomingHttpHeaders } from "node:http";
import { type Cleaner, isRecord } from "./cleaner.ts";
import { RECORDED_PARTS, requestLine, uploadMark } from "./recorded-values.ts";
import { parsed, type RecordedLine } from "./recording-file.ts";

/** What went through the recorder, once it is over. */
export interface Seen {
  readonly method: string;
  /** Below the base, with its query. */
  readonly path: string;
  /** Of a body of JSON. */
  readonly body: string;
  /** Of an upload. */
  readonly sha256: string | null;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly answer: string;
  /** The service broke its answer off. */
  readonly cut: boolean;
}

/** Longest text that is kept of an answer that is no JSON, in characters. */
const MOST_TEXT = 10_000;

/** Whether a path below the base is of a part that is recorded. */
export function isRecorded(path: string): boolean {
  return RECORDED_PARTS.has(path.split(/[/?]/, 2)[1] ?? "");
}

/** The line that keeps an exchange; null for an answer that broke off and says nothing. */
export function lineOf(seen: Seen, cleaner: Cleaner): Omit<RecordedLine, "at_ms"> | null {
  const { method, path, status, sha256 } = seen;
  const { pathname, searchParams } = new URL(path, "http://base");
  const request = cleaner.text(requestLine(method, pathname, searchParams));
  const mark = sha256 === null ? null : uploadMark(sha256);
  const handle = mark === null ? null : learnUpload(seen, cleaner, mark);
  const body = mark ?? cleaner.request(seen.body);
  const said = answerOf(seen, cleaner);
  if (said === null) return null;
  const sent = { ...(body !== undefined && { body }), ...(handle !== null && { handle }) };
  return { request, ...sent, status, headers: cleaner.headers(seen.headers), ...said };
}

function answerOf(
  { headers, answer, cut }: Seen,
  cleaner: Cleaner,
): Pick<RecordedLine, "answer" | "text" | "events" | "cut"> | null {
  const isStream = String(headers["content-type"] ?? "").startsWith("text/event-stream");
  if (isStream) return { events: framesOf(answer, cleaner), ...(cut && { cut: true }) };
  if (cut) return null;
  if (answer === "") return {};
  const value = cleaner.answer(answer);
  // Cut before it is cleaned, a secret could lose the half that shows what it is.
  return value === undefined ? { text: cleaner.text(answer).slice(0, MOST_TEXT) } : { answer: value };
}

/** Whole frames of a stream of server-sent events; comments are left out. */
function framesOf(text: string, cleaner: Cleaner): readonly unknown[] {
  const frames = text.replaceAll(/\r\n?/g, "\n").split("\n\n").slice(0, -1);
  return frames.flatMap((frame) => {
    const fields = new Map<string, string>();
    for (const [, name = "", value = ""] of frame.matchAll(/^(event|id|data|retry):? ?(.*)$/gm)) {
      fields.set(name, fields.has(name) ? `${fields.get(name)}\n${value}` : value);
    }
    const data = fields.get("data");
    if (fields.size === 0) return [];
    const [event, id, retry] = ["event", "id", "retry"].map((name) => fields.get(name));
    return [
      {
        ...(event !== undefined && { event: cleaner.text(event) }),
        ...(id !== undefined && { id: cleaner.text(id) }),
        ...(retry !== undefined && { retry: cleaner.text(retry) }),
        ...(data !== undefined && { data: cleaner.answer(data) ?? cleaner.text(data) }),
      },
    ];
  });
}

function learnUpload({ status, answer }: Seen, cleaner: Cleaner, mark: string): string | null {
  if (status < 200 || status > 299) return null;
  const said = parsed(answer);
  return isRecord(said) && typeof said.url === "string" ? cleaner.learnUpload(said.url, mark) : null;
}

/** Outputs of an answer that have bytes: where these are, and the asset that they are. */
export function outputsOf({ status, answer }: Seen): readonly { readonly asset: string; readonly url: string }[] {
  if (status !== 200 || !answer.includes('"outputs"')) return [];
  try {
    const { outputs } = JSON.parse(answer) as { readonly outputs?: unknown };
    return (Array.isArray(outputs) ? outputs : []).flatMap((output: unknown) => {
      const isThere = isRecord(output) && typeof output.asset_id === "string" && typeof output.url === "string";
      return isThere ? [{ asset: output.asset_id as string, url: output.url as string }] : [];
    });
  } catch {
    return [];
  }
}
