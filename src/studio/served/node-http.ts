import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** Returns the method and headers of a request as the Fetch API has them. */
export function headOf({ method = "GET", headers: given }: IncomingMessage): Pick<Request, "method" | "headers"> {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  return { method, headers };
}

export async function sendResponse(response: ServerResponse, { status, headers, body }: Response): Promise<void> {
  response.writeHead(status, Object.fromEntries(headers));
  if (body === null) return void response.end();
  // A player that seeks hangs up in the middle: that is no failure of ours.
  await pipeline(Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]), response).catch(() => {
    response.destroy();
  });
}
