import type { ServerResponse } from "node:http";
import { isShowrunnerError } from "../../index.ts";
import { Refusal } from "./refusal.ts";

const title = "This dashboard is locked";
const body = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><main><h1>${title}</h1><p>Open the address that <code>showrunner dashboard</code> printed in the terminal. It holds a token that only you have.</p></main></html>`;

/** What a person sees who comes without the token. Plain: style and script are behind the door. */
export function sendLockedPage(response: ServerResponse): void {
  response.writeHead(401, { "Content-Type": "text/html; charset=utf-8" });
  response.end(body);
}

/** What every answer says: no script but our own, no frames, no guessing of types, nothing told to other sites. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    "img-src 'self'",
    "media-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
  "Cache-Control": "no-store",
};

/** The refusal for a failure; null for an unexpected one. */
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
  // What is left of a body that is too long is not read.
  if (status === 413) response.setHeader("Connection", "close");
  sendJson(response, status, { error: { code, message } });
}
