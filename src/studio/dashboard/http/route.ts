import type { IncomingMessage, ServerResponse } from "node:http";
import { isShowrunnerError } from "../../../index.ts";
import {
  type BodyBounds,
  bodyOfMessage,
  isOfType,
  Refusal,
  readBytes,
  readJson,
  STREAM_BEAT,
  STREAM_BEAT_MS,
  STREAM_HEADERS,
  STREAM_START,
  streamFrame,
} from "../../served/index.ts";

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
  /** Returns the response's content, or undefined if it has already responded. */
  handle(call: Call): Promise<unknown>;
}

const LARGEST_REQUEST_BYTES = 1024 * 1024;

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

const title = "This dashboard is locked";
const head = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>`;
const wrong =
  "<p role=alert>This token is not valid. The token is the part of the address after <code>token=</code>.</p>";
const bodyWith = (said: string) =>
  `${head}<main><h1>${title}</h1>${said}<p>Open the address that <code>showrunner dashboard</code> printed in the terminal. It contains your token. Or enter the token here:</p><form method="post" action="/login"><label>Token <input name="token" type="password" required autocomplete="current-password"></label> <button>Open</button></form></main></html>`;

/** The page has no styles or scripts, because loading them needs the token. */
export function sendLockedPage(response: ServerResponse, { isWrong }: { readonly isWrong: boolean }): void {
  // Without this policy, a form would not send its origin.
  response.setHeader("Referrer-Policy", "same-origin");
  response.setHeader(
    "Content-Security-Policy",
    "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  );
  response.writeHead(401, { "Content-Type": "text/html; charset=utf-8" });
  response.end(bodyWith(isWrong ? wrong : ""));
}

export function securityHeaders(mediaOrigin: string | null): Readonly<Record<string, string>> {
  const media = mediaOrigin === null ? "'self'" : `'self' ${mediaOrigin}`;
  return { ...FIXED_HEADERS, "Content-Security-Policy": policy(media) };
}

function policy(media: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    `img-src ${media}`,
    `media-src ${media}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

const FIXED_HEADERS = {
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
  "Cache-Control": "no-store",
};

export function refusalOf(error: unknown): Refusal | null {
  if (error instanceof Refusal) return error;
  if (!isShowrunnerError(error)) return null;
  const status = error.code === "RUN_UNKNOWN" ? 404 : 409;
  return new Refusal(status, error.code, error.message);
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { "Content-Type": "application/json; charset=utf-8", "Content-Length": bytes.length });
  response.end(bytes);
}

export function sendRefusal(response: ServerResponse, { status, code, message }: Refusal): void {
  if (response.headersSent) return void response.destroy();
  // Stops reading a body that is too long or too slow.
  if (status === 413 || status === 408) response.setHeader("Connection", "close");
  sendJson(response, status, { error: { code, message } });
}

export interface EventStream {
  readonly signal: AbortSignal;
  send(event: string, data: unknown, id?: number): void;
  end(): void;
}

const MOST_UNSENT_BYTES = 32 * 1024 * 1024;

export function sendStreamHead(response: ServerResponse): void {
  response.writeHead(200, STREAM_HEADERS).end();
}

export function openEventStream(response: ServerResponse): EventStream {
  const removed = new AbortController();
  response.writeHead(200, STREAM_HEADERS);
  response.write(STREAM_START);
  const beat = setInterval(() => response.write(STREAM_BEAT), STREAM_BEAT_MS);
  response.on("close", () => {
    clearInterval(beat);
    removed.abort();
  });
  return {
    signal: removed.signal,
    send(event, data, id) {
      if (removed.signal.aborted) return;
      if (response.writableLength > MOST_UNSENT_BYTES) return void response.destroy();
      response.write(streamFrame(event, data, id));
    },
    end: () => void response.end(),
  };
}
