import type { IncomingMessage, ServerResponse } from "node:http";

/** Beyond what a webhook may have, so that its receiver is the one to refuse it. */
const MOST_BYTES = 16 * 1024 * 1024;
/** Of all bodies that are held at once: nobody is known to be genuine before the whole body is there. */
const MOST_BYTES_HELD = 64 * 1024 * 1024;

/** Bytes of all bodies that a handler holds. */
interface Held {
  bytes: number;
}

/**
 * A handler of the Fetch kind for node's own server. It holds bodies of 64 MiB at once, and of 16 MiB each: beyond that it
 * answers 413, or 503, which makes a service deliver again.
 */
export function nodeHandler(
  handle: (request: Request) => Promise<Response>,
): (incoming: IncomingMessage, response: ServerResponse) => Promise<void> {
  const held: Held = { bytes: 0 };
  return async (incoming, response) => {
    const pieces: Buffer[] = [];
    try {
      const refused = await receive(incoming, pieces, held);
      const answer = refused ?? (await answerTo(handle, incoming, Buffer.concat(pieces)));
      if (refused !== null) response.on("finish", () => letGo(incoming));
      response.writeHead(answer.status, { ...Object.fromEntries(answer.headers), ...(refused !== null && CLOSES) });
      response.end(await answer.text());
    } catch {
      response.destroy();
    } finally {
      for (const { byteLength } of pieces) held.bytes -= byteLength;
    }
  };
}

const CLOSES = { connection: "close" };
/** A sender reads the refusal only while nobody hangs up on what it still sends, milliseconds. */
const GRACE_MS = 1_000;

function letGo(incoming: IncomingMessage): void {
  incoming.resume();
  setTimeout(() => incoming.destroy(), GRACE_MS).unref();
}

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

/** Settles with what refuses the body, whose rest is not read then, or null once `pieces` has all of it. */
function receive(incoming: IncomingMessage, pieces: Buffer[], held: Held): Promise<Response | null> {
  return new Promise((resolve, reject) => {
    let sizeBytes = 0;
    incoming.on("data", (piece: Buffer) => {
      sizeBytes += piece.byteLength;
      const isTooLarge = sizeBytes > MOST_BYTES;
      if (!isTooLarge && held.bytes + piece.byteLength <= MOST_BYTES_HELD) {
        held.bytes += piece.byteLength;
        return void pieces.push(piece);
      }
      incoming.pause().removeAllListeners("data");
      resolve(isTooLarge ? refusal(413, "the body is too large") : refusal(503, "too much at once, try again"));
    });
    incoming.on("end", () => resolve(null));
    incoming.on("error", reject);
    incoming.on("close", () => reject(new Error("The request broke off.")));
  });
}

function refusal(status: number, text: string): Response {
  return new Response(`${text}\n`, { status });
}
