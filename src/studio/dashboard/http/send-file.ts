import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { type ByteRange, notFound, parseRange } from "../../served/index.ts";

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
