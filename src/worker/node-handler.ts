import type { IncomingMessage, ServerResponse } from "node:http";

/** Beyond what a webhook may have, so that its receiver is the one to refuse it. */
const MOST_BYTES = 16 * 1024 * 1024;

/** A handler of the Fetch kind for node's own server. */
export function nodeHandler(
  handle: (request: Request) => Promise<Response>,
): (incoming: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (incoming, response) => {
    const body = await bodyOf(incoming).catch(() => undefined);
    if (body === undefined) return void response.destroy();
    const answer = body === null ? refusal(413, "the body is too large") : await answerTo(handle, incoming, body);
    if (body === null) response.on("finish", () => incoming.destroy());
    response.writeHead(answer.status, { ...Object.fromEntries(answer.headers), ...(body === null && CLOSES) });
    response.end(await answer.text());
  };
}

const CLOSES = { connection: "close" };

async function answerTo(
  handle: (request: Request) => Promise<Response>,
  { method = "GET", headers, url }: IncomingMessage,
  body: Buffer,
): Promise<Response> {
  const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
  );
  try {
    const hasBody = method !== "GET" && method !== "HEAD";
    const address = new URL(url ?? "/", "http://localhost");
    return await handle(
      new Request(address, { method, headers: pairs, ...(hasBody && { body: new Uint8Array(body) }) }),
    );
  } catch {
    return refusal(500, "not handled, try again");
  }
}

/** Null once it is too large; the rest is not read then. */
function bodyOf(incoming: IncomingMessage): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let sizeBytes = 0;
    incoming.on("data", (piece: Buffer) => {
      sizeBytes += piece.byteLength;
      if (sizeBytes <= MOST_BYTES) return void pieces.push(piece);
      incoming.pause();
      resolve(null);
    });
    incoming.on("end", () => resolve(Buffer.concat(pieces)));
    incoming.on("error", reject);
    incoming.on("close", () => reject(new Error("The request broke off.")));
  });
}

function refusal(status: number, text: string): Response {
  return new Response(`${text}\n`, { status });
}
