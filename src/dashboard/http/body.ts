import type { IncomingMessage } from "node:http";
import { badRequest, Refusal } from "./refusal.ts";

/** Largest request body, in bytes. */
export const MOST_BYTES = 1024 * 1024;

/** The JSON object of a request. @throws Refusal 413 when it is too large, 415 when it is no JSON, 400 when malformed */
export async function readJson(incoming: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  if (!/^application\/json\b/i.test(incoming.headers["content-type"] ?? "")) {
    throw new Refusal(415, "CONTENT_TYPE", "Send JSON, as application/json.");
  }
  if (Number(incoming.headers["content-length"] ?? 0) > MOST_BYTES) throw tooLarge();
  const body = parsed((await collected(incoming)).toString("utf8"));
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw badRequest("The body is no JSON object.");
  return body as Readonly<Record<string, unknown>>;
}

async function collected(incoming: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of incoming as AsyncIterable<Buffer>) {
      size += piece.length;
      if (size > MOST_BYTES) throw tooLarge();
      pieces.push(piece);
    }
  } catch (error) {
    // A sender that hangs up is nothing that went wrong here.
    throw incoming.complete || error instanceof Refusal ? error : badRequest("The body was cut short.");
  }
  return Buffer.concat(pieces);
}

function parsed(text: string): unknown {
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    throw badRequest("The body is no JSON.");
  }
}

function tooLarge(): Refusal {
  return new Refusal(413, "TOO_LARGE", `A request may hold ${MOST_BYTES} bytes; give long input on the command line.`);
}
