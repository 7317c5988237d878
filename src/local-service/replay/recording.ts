import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { LocalServiceError } from "../errors.ts";
import { RECORDED_HEADERS, RECORDING_FILE, RECORDING_VERSION } from "../recording/recorded-values.ts";

/** One recorded answer. */
export interface RecordedAnswer {
  /** Milliseconds since the recording was begun. */
  readonly atMs: number;
  /** Such as `POST /models/image-1`. */
  readonly request: string;
  readonly body: unknown;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly answer: unknown;
  readonly text: string | null;
  readonly events: readonly RecordedFrame[] | null;
  readonly isCut: boolean;
}

export interface RecordedFrame {
  readonly event?: string | undefined;
  readonly id?: string | undefined;
  readonly retry?: string | undefined;
  readonly data?: unknown;
}

/** Kept bytes of an output. */
export interface RecordedAsset {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly contentType: string | null;
}

export interface Recording {
  readonly folder: string;
  /** The recorded service's v3 address. */
  readonly service: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly answers: readonly RecordedAnswer[];
  readonly assets: ReadonlyMap<string, RecordedAsset>;
  /** The number of the half line at its end, which is passed over; null: it ends with a whole one. */
  readonly tornLine: number | null;
}

const MOST_BYTES = 300 * 1024 * 1024;
const MOST_ASSET_BYTES = 4 * 1024 ** 3;
const MOST_LINES = 1_000_000;

const head = z.object({
  recording: z.literal(RECORDING_VERSION),
  service: z.string().max(2_000),
  started_at: z.iso.datetime({ offset: true }),
});
const oneLine = z
  .string()
  .max(500)
  .regex(/^[\x20-\x7e]*$/);
const frame = z.object({
  event: z
    .string()
    .max(100)
    .regex(/^[^\r\n]*$/)
    .optional(),
  id: z
    .string()
    .max(200)
    .regex(/^[^\r\n\0]*$/)
    .optional(),
  retry: z
    .string()
    .regex(/^\d{1,7}$/)
    .optional(),
  data: z.unknown().optional(),
});
const answerLine = z.object({
  at_ms: z.number().int().min(0).max(1e13),
  request: z
    .string()
    .max(8_192)
    .regex(/^(?:GET|HEAD|POST|PUT|PATCH|DELETE) \/[\x21-\x7e]*$/),
  body: z.unknown().optional(),
  status: z.number().int().min(200).max(599),
  headers: z.partialRecord(z.enum(RECORDED_HEADERS), oneLine).catch({}),
  answer: z.unknown().optional(),
  text: z.string().max(100_000).optional(),
  events: z.array(frame).max(100_000).optional(),
  cut: z.literal(true).optional(),
});
const assetLine = z.object({
  asset: z.string().min(1).max(300),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  size_bytes: z.number().int().min(0).max(MOST_ASSET_BYTES),
  content_type: z
    .string()
    .max(127)
    .regex(/^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/)
    .nullable(),
});

/** Reads a recording whole; the torn end that a killed recorder leaves is passed over. @throws LocalServiceError */
export function readRecording(folder: string): Recording {
  const path = join(folder, RECORDING_FILE);
  const lines = readPlainFile(path, MOST_BYTES, folder).toString("utf8").split("\n");
  // Without its line break a line is torn.
  const tornLine = lines.pop() === "" ? null : lines.length + 1;
  const [first = "", ...rest] = lines;
  const known = head.safeParse(parsed(first));
  if (!known.success) throw unusable(path, `its first line is not that of a recording of version ${RECORDING_VERSION}`);
  if (rest.length > MOST_LINES) throw unusable(path, `it has more than ${MOST_LINES} lines`);
  const answers: RecordedAnswer[] = [];
  const assets = new Map<string, RecordedAsset>();
  for (const [index, line] of rest.entries()) {
    const value = parsed(line);
    const asset = assetLine.safeParse(value);
    if (asset.success) {
      const { sha256, size_bytes: sizeBytes, content_type: contentType } = asset.data;
      assets.set(asset.data.asset, { sha256, sizeBytes, contentType });
      continue;
    }
    const read = answerLine.safeParse(value);
    if (!read.success) {
      const [issue] = read.error.issues;
      throw unusable(path, `line ${index + 2} is no answer: ${issue?.path.join(".") || "line"}: ${issue?.message}`);
    }
    const { at_ms: atMs, request, body, status, headers, answer, text = null, events = null, cut } = read.data;
    answers.push({
      atMs,
      request,
      body,
      status,
      headers: headers as Record<string, string>,
      answer,
      text,
      events,
      isCut: cut === true,
    });
  }
  const { service, started_at: startedAt } = known.data;
  return { folder, service, startedAt: Date.parse(startedAt), answers, assets, tornLine };
}

/** Opens a plain file of a recording: no link, no device, no pipe. @throws LocalServiceError */
export function openPlainFile(path: string): number {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  const file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw new Error("it is no plain file");
}

function readPlainFile(path: string, mostBytes: number, folder: string): Buffer {
  let file: number;
  try {
    file = openPlainFile(path);
  } catch (cause) {
    const what =
      (cause as NodeJS.ErrnoException).code === "ENOENT" ? "there is none" : String((cause as Error).message);
    throw unusable(path, `${what}. Record one: showrunner record ${folder}`, cause);
  }
  try {
    const { size } = fstatSync(file);
    if (size > mostBytes) throw unusable(path, `it is larger than ${mostBytes} bytes`);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

function unusable(path: string, why: string, cause?: unknown): LocalServiceError {
  return new LocalServiceError("RECORDING_UNUSABLE", `${path} cannot be replayed: ${why}`, { cause });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
