import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";

/** Sends each piece of the body as it comes. If the client goes away, which is not an error, the body is cancelled. */
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
