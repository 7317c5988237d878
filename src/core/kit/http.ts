import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";

/** Sends a response, streaming its body. If the client disconnects, cancels the body without throwing an error. */
export async function sendResponse(
  response: ServerResponse,
  { status, headers, body }: Response,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const cookies = headers.getSetCookie();
  const all = { ...Object.fromEntries(headers), ...(cookies.length > 0 && { "set-cookie": cookies }), ...more };
  response.writeHead(status, all);
  if (body === null || response.req.method === "HEAD" || response.destroyed) {
    response.end();
    return body?.cancel();
  }
  response.flushHeaders();
  await pipeline(Readable.fromWeb(body as NodeReadableStream), response).catch(() => {
    response.destroy();
  });
}

/** Bytes from `start` to `end`, both included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Parses a `Range` header. Returns `beyond` if the range starts after the file's end, and `whole` if there is no single
 * valid range.
 */
export function parseRange(header: string | null | undefined, sizeBytes: number): ByteRange | "whole" | "beyond" {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.replaceAll(" ", "") ?? "");
  if (match === null) return "whole";
  const [, first = "", last = ""] = match;
  if (first === "" && last === "") return "whole";
  if (first === "") {
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? "beyond" : { start: sizeBytes - length, end: sizeBytes - 1 };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return "whole";
  if (start >= sizeBytes) return "beyond";
  return { start, end: last === "" ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1) };
}
