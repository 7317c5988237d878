import { createHash } from "node:crypto";
import { redactText, withoutSecrets } from "../../core/kit/clean-text.ts";

/** The version of the format; another one is refused. */
export const RECORDING_VERSION = 1;
/** The one file of a recording, beside the folder {@link RECORDED_MEDIA} of bytes by hash. */
export const RECORDING_FILE = "recording.jsonl";
export const RECORDED_MEDIA = "media";
/** Stands for the address of an output, which is presigned: its bytes are found by `asset_id`. */
export const OUTPUT_URL = "recorded:output";

/** Stands for the handle of an upload: what was uploaded, by content. */
export const uploadMark = (sha256: string): string => `recorded:upload:${sha256}`;

/** Parts of the API whose answers are recorded; the rest deals in credentials and webhooks, and passes by. */
export const RECORDED_PARTS: ReadonlySet<string> = new Set([
  "models",
  "jobs",
  "files",
  "chat",
  "balance",
  "usage",
  "openapi.json",
]);
/** Parameters of a query that say what is requested; all others are left out, as they may sign or identify. */
export const RECORDED_QUERY: ReadonlySet<string> = new Set([
  ...["modality", "limit", "cursor", "logs_after", "start", "end", "group_by"],
]);
/** Headers of answers that mean something to a client. */
export const RECORDED_HEADERS = ["content-type", "location", "retry-after", "x-idempotent-replayed"] as const;
/** Fields of a submit that are its sender's own business: two submits may differ in them and request the same. */
export const SENDERS_OWN: ReadonlySet<string> = new Set(["idempotency_key", "webhook"]);

/** Nothing that is meant to be read lies deeper. */
const MOST_DEPTH = 100;
/** A picture within a text, by content. */
const INLINE_MEDIA = /^data:([\w.+/-]{0,100})[;,]/;
const SHORTEST_MEDIUM = 1_000;
/** Far more than an address has: an expression that searches megabytes runs out of room. */
const MOST_BEFORE_DATA = 200;

/**
 * A JSON value fit to be kept in a repository: {@link withoutSecrets}, and of media within texts their hash. A request means the same
 * before and after, so that both can be compared.
 */
export function recordable(value: unknown): unknown {
  return withoutSecrets(value, recordableText);
}

function recordableText(text: string): string {
  const [head = "", type] = INLINE_MEDIA.exec(text.slice(0, MOST_BEFORE_DATA)) ?? [];
  if (type !== undefined && text.length - head.length >= SHORTEST_MEDIUM)
    return `data:${type};sha256,${createHash("sha256").update(text).digest("hex")}`;
  return redactText(text);
}

/** The body of a submit without what is its sender's own business. */
export function withoutSendersOwn(body: unknown): unknown {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => !SENDERS_OWN.has(name)));
}

/** Every text of a JSON value changed, given the name of its field; with `changeName` the names too. */
export function mapTexts(
  value: unknown,
  change: (text: string, name: string) => string,
  changeName: (name: string) => string = (name) => name,
): unknown {
  const mapped = (item: unknown, name: string, depth: number): unknown => {
    if (typeof item === "string") return change(item, name);
    if (typeof item !== "object" || item === null || depth === 0) return item;
    if (Array.isArray(item)) return item.map((one) => mapped(one, name, depth - 1));
    const fields = Object.entries(item).map(([key, one]) => [changeName(key), mapped(one, key, depth - 1)]);
    return Object.fromEntries(fields);
  };
  return mapped(value, "", MOST_DEPTH);
}

/** What a request asks for, below the base: its path, and the parameters that count, in order. */
export function requestLine(method: string, path: string, query: URLSearchParams): string {
  const counted = [...query].filter(([name]) => RECORDED_QUERY.has(name)).sort(([a], [b]) => (a < b ? -1 : 1));
  const parameters = new URLSearchParams(counted).toString();
  return `${method} ${path}${parameters === "" ? "" : `?${parameters}`}`;
}
