import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { notFound } from "./route.ts";

/** Types that a browser may show in place; everything else is only offered to be saved. No type here can hold script. */
const SHOWN: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
  "image/avif",
  "video/mp4",
  "video/webm",
  "video/quicktime",
  "audio/mpeg",
  "audio/wav",
  "audio/x-wav",
  "audio/wave",
  "audio/mp4",
  "audio/x-m4a",
  "audio/vnd.wave",
  "audio/webm",
  "audio/aac",
  "audio/ogg",
  "audio/flac",
]);

export interface MediaHeaders {
  readonly contentType: string;
  readonly disposition: "inline" | "attachment";
}

/** The type to send for bytes that the service called so. */
export function mediaHeaders(declared: string | null): MediaHeaders {
  const type = essence(declared);
  if (SHOWN.has(type)) return { contentType: type, disposition: "inline" };
  return { contentType: "application/octet-stream", disposition: "attachment" };
}

export function kindOfType(declared: string | null): "image" | "video" | "audio" | "other" {
  const type = essence(declared);
  if (!SHOWN.has(type)) return "other";
  return type.slice(0, type.indexOf("/")) as "image" | "video" | "audio";
}

function essence(declared: string | null): string {
  return (declared ?? "").split(";", 1)[0]!.trim().toLowerCase();
}

/** Bytes from `start` to `end`, both included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * What a `Range` header asks of a file of this size: one range; `whole` when it asks for none (or for several, which a
 * server may ignore); `beyond` when nothing of it exists.
 */
export function parseRange(header: string | undefined, sizeBytes: number): ByteRange | "whole" | "beyond" {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? "");
  if (match === null) return "whole";
  const [, first = "", last = ""] = match;
  if (first === "" && last === "") return "whole";
  if (first === "") {
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? "beyond" : { start: sizeBytes - length, end: sizeBytes - 1 };
  }
  const start = Number(first);
  if (start >= sizeBytes) return "beyond";
  const end = last === "" ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  return end < start ? "whole" : { start, end };
}

interface BytesAnswer {
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default 200, or 206 for a part. */
  readonly status?: number;
}

export interface FileAnswer extends BytesAnswer {
  readonly path: string;
}

/** Bytes from wherever they come. */
export interface Bytes {
  readonly sizeBytes: number;
  read(range: ByteRange): Promise<AsyncIterable<Uint8Array>>;
}

/** Sends a file, or the requested range. @throws Refusal 404 */
export async function sendFile(incoming: IncomingMessage, response: ServerResponse, file: FileAnswer): Promise<void> {
  const bytes = {
    sizeBytes: await sizeOf(file.path),
    read: async (range: ByteRange) => createReadStream(file.path, range),
  };
  await sendBytes(incoming, response, bytes, file);
}

/** Sends bytes, or the requested range of them. */
export async function sendBytes(
  incoming: IncomingMessage,
  response: ServerResponse,
  { sizeBytes: size, read }: Bytes,
  answer: BytesAnswer,
): Promise<void> {
  const range = parseRange(incoming.headers.range, size);
  const headers = { ...answer.headers, "Content-Type": answer.contentType, "Accept-Ranges": "bytes" };
  if (range === "beyond") return void response.writeHead(416, { "Content-Range": `bytes */${size}` }).end();
  const { start, end } = range === "whole" ? { start: 0, end: size - 1 } : range;
  const part = range === "whole" ? {} : { "Content-Range": `bytes ${start}-${end}/${size}` };
  const isWithout = incoming.method === "HEAD" || size === 0;
  const body = isWithout ? null : await read({ start, end });
  response.writeHead(range === "whole" ? (answer.status ?? 200) : 206, {
    ...headers,
    ...part,
    "Content-Length": end - start + 1,
  });
  if (body === null) return void response.end();
  // A player that seeks hangs up in the middle: that is no failure of ours.
  await pipeline(body, response).catch(() => response.destroy());
}

async function sizeOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => null);
  if (found?.isFile() !== true) throw notFound("This file");
  return found.size;
}
