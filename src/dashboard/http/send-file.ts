import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { parseRange } from "./range.ts";
import { notFound } from "./refusal.ts";

export interface FileAnswer {
  readonly path: string;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default 200, or 206 for a part. */
  readonly status?: number;
}

/** Sends a file, or the part that was asked for. @throws Refusal 404 */
export async function sendFile(incoming: IncomingMessage, response: ServerResponse, file: FileAnswer): Promise<void> {
  const size = await sizeOf(file.path);
  const range = parseRange(incoming.headers.range, size);
  const headers = { ...file.headers, "Content-Type": file.contentType, "Accept-Ranges": "bytes" };
  if (range === "beyond") return void response.writeHead(416, { "Content-Range": `bytes */${size}` }).end();
  const { start, end } = range === "whole" ? { start: 0, end: size - 1 } : range;
  const part = range === "whole" ? {} : { "Content-Range": `bytes ${start}-${end}/${size}` };
  response.writeHead(range === "whole" ? (file.status ?? 200) : 206, {
    ...headers,
    ...part,
    "Content-Length": end - start + 1,
  });
  if (incoming.method === "HEAD" || size === 0) return void response.end();
  // A player that seeks hangs up in the middle: that is no failure of ours.
  await pipeline(createReadStream(file.path, { start, end }), response).catch(() => response.destroy());
}

async function sizeOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => null);
  if (found?.isFile() !== true) throw notFound("This file");
  return found.size;
}
