import type { ServerResponse } from "node:http";
import { isShowrunnerError } from "../../index.ts";
import { Refusal } from "./refusal.ts";

/** What a failure is told as; null for one that nobody expected. */
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
