import type { IncomingMessage, ServerResponse } from "node:http";
import { type BodyBounds, bodyOfMessage, isOfType, Refusal, readBytes, readJson } from "../../served/index.ts";

export interface VisitorView {
  readonly role: "operator" | "viewer";
}

export interface Call {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly visitor: VisitorView;
  json(): Promise<Readonly<Record<string, unknown>>>;
}

export interface Route {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Returns undefined if it has already responded. */
  handle(call: Call): Promise<unknown>;
}

export const LARGEST_REQUEST_BYTES = 1024 * 1024;

const BOUNDS: BodyBounds = { mostBytes: LARGEST_REQUEST_BYTES, instead: "pass long input on the command line" };

export function jsonOf(
  incoming: IncomingMessage,
  mostBytes = LARGEST_REQUEST_BYTES,
): Promise<Readonly<Record<string, unknown>>> {
  return readJson(bodyOfMessage(incoming), { ...BOUNDS, mostBytes });
}

export async function readForm(incoming: IncomingMessage): Promise<URLSearchParams> {
  const body = bodyOfMessage(incoming);
  if (!isOfType(body, "application/x-www-form-urlencoded")) {
    throw new Refusal(415, "CONTENT_TYPE", "Send the form as application/x-www-form-urlencoded.");
  }
  return new URLSearchParams(new TextDecoder().decode(await readBytes(body, BOUNDS)));
}
