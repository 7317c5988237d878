import type { IncomingMessage, ServerResponse } from "node:http";
import { badRequest, Refusal } from "../../served/index.ts";
import type { VisitorView } from "../views/action-wire.ts";

export interface Call {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  /** Parts of the path that the pattern names, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly visitor: VisitorView;
  /** The body as a JSON object. @throws Refusal */
  json(): Promise<Readonly<Record<string, unknown>>>;
}

export interface Route {
  readonly method: "GET" | "POST";
  /** Segments with `:name` for those that vary, e.g. `/api/runs/:run`. */
  readonly path: string;
  /** What it returns is sent as JSON; undefined: it answered by itself. */
  handle(call: Call): Promise<unknown>;
}

/** Largest request body, in bytes. */
export const LARGEST_REQUEST_BYTES = 1024 * 1024;

/** The JSON object of a request. @throws Refusal 413 when it is too large, 415 when it is no JSON, 400 when malformed */
export async function readJson(
  incoming: IncomingMessage,
  most = LARGEST_REQUEST_BYTES,
): Promise<Readonly<Record<string, unknown>>> {
  if (!/^application\/json\b/i.test(incoming.headers["content-type"] ?? "")) {
    throw new Refusal(415, "CONTENT_TYPE", "Send JSON, as application/json.");
  }
  if (Number(incoming.headers["content-length"] ?? 0) > most) throw tooLarge(most);
  const body = parsed((await collected(incoming, most)).toString("utf8"));
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw badRequest("The body is no JSON object.");
  return body as Readonly<Record<string, unknown>>;
}

/** The fields of a plain form. @throws Refusal 413, 415, 400 */
export async function readForm(incoming: IncomingMessage): Promise<URLSearchParams> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(incoming.headers["content-type"] ?? "")) {
    throw new Refusal(415, "CONTENT_TYPE", "Send a form, as application/x-www-form-urlencoded.");
  }
  return new URLSearchParams((await collected(incoming)).toString("utf8"));
}

async function collected(incoming: IncomingMessage, most = LARGEST_REQUEST_BYTES): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of incoming as AsyncIterable<Buffer>) {
      size += piece.length;
      if (size > most) throw tooLarge(most);
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

function tooLarge(most: number): Refusal {
  return new Refusal(413, "TOO_LARGE", `A request may hold ${most} bytes; give long input on the command line.`);
}
