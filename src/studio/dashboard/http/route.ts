import { isShowrunnerError } from "../../../index.ts";
import {
  type BodyBounds,
  isOfType,
  Refusal,
  readBytes,
  type Route as ServedRoute,
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
  readonly request: Request;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly visitor: VisitorView;
  json(): Promise<Readonly<Record<string, unknown>>>;
}

export type Route = ServedRoute<Call>;

export const BOUNDS: BodyBounds = { mostBytes: 1024 * 1024, instead: "use the command line for long input" };

export async function readForm(request: Request): Promise<URLSearchParams> {
  if (!isOfType(request, "application/x-www-form-urlencoded")) {
    throw new Refusal(415, "CONTENT_TYPE", "Send the form as application/x-www-form-urlencoded.");
  }
  return new URLSearchParams(new TextDecoder().decode(await readBytes(request, BOUNDS)));
}

const title = "This dashboard is locked";
const head = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>`;
const wrong =
  "<p role=alert>This token is not valid. The token is the part of the address after <code>token=</code>.</p>";
const bodyWith = (said: string) =>
  `${head}<main><h1>${title}</h1>${said}<p>Open the address that <code>showrunner dashboard</code> printed in the terminal (it contains your token), or enter the token here:</p><form method="post" action="/login"><label>Token <input name="token" type="password" required autocomplete="current-password"></label> <button>Open</button></form></main></html>`;

/** Returns the page that asks for the token. It has no styles or scripts, because loading them requires the token. */
export function lockedPage({ isWrong }: { readonly isWrong: boolean }): Response {
  return htmlResponse(401, bodyWith(isWrong ? wrong : ""), {
    // Without this policy, a form would not send its origin.
    "Referrer-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  });
}

export function htmlResponse(status: number, body: string, more: Readonly<Record<string, string>>): Response {
  return new Response(body, { status, headers: { "Content-Type": "text/html; charset=utf-8", ...more } });
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

export function refusedResponse({ status, code, message }: Refusal): Response {
  // Stops reading a body that is too long or too slow.
  const headers = status === 413 || status === 408 ? { Connection: "close" } : {};
  return Response.json({ error: { code, message } }, { status, headers });
}

export interface EventStream {
  readonly signal: AbortSignal;
  send(event: string, data: unknown, id?: number): void;
  end(): void;
}

const MOST_UNSENT_BYTES = 32 * 1024 * 1024;

export function openEventStream(): EventStream & { readonly response: Response } {
  const over = new AbortController();
  const encoder = new TextEncoder();
  let reader!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        reader = controller;
      },
      cancel: () => over.abort(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MOST_UNSENT_BYTES }),
  );
  const write = (text: string) => {
    if (over.signal.aborted) return;
    reader.enqueue(encoder.encode(text));
    if (reader.desiredSize! > 0) return;
    reader.error(new Error("The reader is too slow."));
    over.abort();
  };
  write(STREAM_START);
  const beat = setInterval(() => write(STREAM_BEAT), STREAM_BEAT_MS);
  over.signal.addEventListener("abort", () => clearInterval(beat), { once: true });
  return {
    response: new Response(body, { headers: STREAM_HEADERS }),
    signal: over.signal,
    send: (event, data, id) => write(streamFrame(event, data, id)),
    end() {
      if (over.signal.aborted) return;
      over.abort();
      reader.close();
    },
  };
}
