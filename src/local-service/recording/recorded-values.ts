import { createHash } from "node:crypto";
import { z } from "zod";
import { redactText, withoutSecrets } from "../../core/kit/clean-text.ts";

export const RECORDING_VERSION = 1;
/**
 * Name of the file that contains a recording. The recorded media are in the folder {@link RECORDED_MEDIA} next to it,
 * named by their hashes.
 */
export const RECORDING_FILE = "recording.jsonl";
export const RECORDED_MEDIA = "media";
export const OUTPUT_URL = "recorded:output";

export const uploadMark = (sha256: string): string => `recorded:upload:${sha256}`;

/**
 * First path segments of the requests that are recorded. Other requests concern credentials and webhooks, and are not
 * recorded.
 */
export const RECORDED_PARTS: ReadonlySet<string> = new Set([
  "models",
  "jobs",
  "files",
  "chat",
  "balance",
  "usage",
  "openapi.json",
]);
/** Query parameters that are recorded. Other parameters may be signatures, or may identify the sender. */
export const RECORDED_QUERY: ReadonlySet<string> = new Set([
  ...["modality", "limit", "cursor", "logs_after", "start", "end", "group_by"],
]);
/** Response headers that are recorded, because clients act on them. */
export const RECORDED_HEADERS = ["content-type", "location", "retry-after", "x-idempotent-replayed"] as const;

const text = (most: number, pattern: RegExp) => z.string().max(most).regex(pattern);
const MOST_ASSET_BYTES = 4 * 1024 ** 3;

export const recordingHead = z.object({
  recording: z.literal(RECORDING_VERSION),
  service: z.string().max(2_000),
  started_at: z.iso.datetime({ offset: true }),
});

const frame = z.object({
  event: text(100, /^[^\r\n]*$/).optional(),
  id: text(200, /^[^\r\n\0]*$/).optional(),
  retry: text(7, /^\d+$/).optional(),
  data: z.unknown().optional(),
});

export const recordedAnswer = z.object({
  at_ms: z.number().int().min(0).max(1e13),
  request: text(8_192, /^(?:GET|HEAD|POST|PUT|PATCH|DELETE) \/[\x21-\x7e]*$/),
  body: z.unknown().optional(),
  /** For an upload, the SHA-256 of the handle in the response. */
  handle: z.string().optional(),
  status: z.number().int().min(200).max(599),
  headers: z.partialRecord(z.enum(RECORDED_HEADERS), text(500, /^[\x20-\x7e]*$/)).catch({}),
  answer: z.unknown().optional(),
  text: z.string().max(100_000).optional(),
  events: z.array(frame).max(100_000).optional(),
  /** Set if the service cut the stream short. */
  cut: z.literal(true).optional(),
});

export const recordedAsset = z.object({
  asset: z.string().min(1).max(300),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  size_bytes: z.number().int().min(0).max(MOST_ASSET_BYTES),
  content_type: text(127, /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/).nullable(),
});

export type RecordedFrame = Readonly<z.output<typeof frame>>;
export type RecordedAnswer = Readonly<z.output<typeof recordedAnswer>>;
export type RecordedAsset = Readonly<z.output<typeof recordedAsset>>;

/** Fields that are ignored when requests are compared. */
export const SENDERS_OWN: ReadonlySet<string> = new Set(["idempotency_key", "webhook"]);

/** Values that are nested deeper than this are left unchanged. */
const MOST_DEPTH = 100;
const INLINE_MEDIA = /^data:([\w.+/-]{0,100})[;,]/;
const SHORTEST_MEDIUM = 1_000;
/**
 * Number of characters at the start of a text that are searched for `INLINE_MEDIA`. On megabytes of text, the regular
 * expression would overflow the stack.
 */
const MOST_BEFORE_DATA = 200;

export function recordable(value: unknown): unknown {
  return withoutSecrets(value, recordableText);
}

function recordableText(text: string): string {
  const [head = "", type] = INLINE_MEDIA.exec(text.slice(0, MOST_BEFORE_DATA)) ?? [];
  if (type !== undefined && text.length - head.length >= SHORTEST_MEDIUM)
    return `data:${type};sha256,${createHash("sha256").update(text).digest("hex")}`;
  return redactText(text);
}

export function withoutSendersOwn(body: unknown): unknown {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => !SENDERS_OWN.has(name)));
}

export function mapTexts(
  value: unknown,
  change: (text: string, name: string) => string,
  changeName: (name: string) => string = (name) => name,
): unknown {
  const mapped = (item: unknown, name: string, depth: number): unknown => {
    if (typeof item === "string") return change(item, name);
    if (typeof item !== "object" || item === null || depth === 0) return item;
    if (Array.isArray(item)) return item.map((part) => mapped(part, name, depth - 1));
    const fields = Object.entries(item).map(([key, part]) => [changeName(key), mapped(part, key, depth - 1)]);
    return Object.fromEntries(fields);
  };
  return mapped(value, "", MOST_DEPTH);
}

export function requestLine(method: string, path: string, query: URLSearchParams): string {
  const counted = [...query].filter(([name]) => RECORDED_QUERY.has(name)).sort(([a], [b]) => (a < b ? -1 : 1));
  const parameters = new URLSearchParams(counted).toString();
  return `${method} ${path}${parameters === "" ? "" : `?${parameters}`}`;
}
