import { hash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Principal, Scope } from "../access/authenticate.ts";
import { invalid, problem, Refusal, refuseForNow } from "./refusal.ts";

export interface Call {
  readonly method: string;
  param(name: string): string;
  /** Returns a query parameter, or its last value if it is repeated. */
  query(name: string): string | null;
  header(name: string): string | null;
  /**
   * Parses the JSON body. An empty body counts as `{}`.
   * @throws Refusal 400 for invalid JSON
   */
  json(): Promise<unknown>;
  /** Who sent the request. Available only on endpoints that need a credential. */
  readonly principal: Principal;
  readonly traceId: string;
  readonly standardHeaders: Readonly<Record<string, string>>;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

export type Headers = Readonly<Record<string, string>>;

export type Answer =
  | { readonly is: "json"; readonly status: number; readonly body: unknown; readonly headers?: Headers }
  | { readonly is: "text"; readonly status: number; readonly body: string; readonly headers: Headers }
  | { readonly is: "empty"; readonly status: number; readonly headers?: Headers }
  /** The handler has already written the response to the socket. */
  | { readonly is: "sent"; readonly status: number };

export const ok = (body: unknown, headers: Headers = {}): Answer => ({ is: "json", status: 200, body, headers });
export const created = (body: unknown): Answer => ({ is: "json", status: 201, body });
export const noContent: Answer = { is: "empty", status: 204 };

export interface ErrorPorts {
  /** Receives unexpected errors, whose text is never sent to the client. */
  onDefect(error: unknown, traceId: string): void;
  readonly strict: boolean;
}

export function errorAnswer(thrown: unknown, traceId: string, { onDefect, strict }: ErrorPorts) {
  const isRefusal = thrown instanceof Refusal;
  if (!isRefusal) onDefect(thrown, traceId);
  const refusal = isRefusal ? thrown : refuseForNow("INTERNAL", "An unexpected error occurred on our side.", 1);
  const { status, headers } = refusal;
  const error = strict ? refusal.strictBody : refusal.body;
  return { is: "json", status, body: { error, trace_id: traceId }, headers } satisfies Answer;
}

/**
 * The credential that an endpoint needs: one with the given scope, a key rather than a token (`"key"`), any key or
 * token (`"credential"`), or none (`"public"`).
 */
export type Access = Scope | "key" | "credential" | "public";

export interface Endpoint {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path under `/v3`, such as `/jobs/{job_id}`. */
  readonly path: string;
  readonly access: Access;
  /** True if the credential is optional. A credential that is sent is still verified. */
  readonly isOpen?: true;
  readonly maxBodyBytes?: number;
  /** True if the endpoint's error responses are converted with `asChatError`. */
  readonly hasChatErrors?: true;
  readonly summary: string;
  handle(call: Call): Promise<Answer> | Answer;
}

export const endpoint = (
  method: Endpoint["method"],
  path: string,
  access: Access,
  summary: string,
  handle: Endpoint["handle"],
): Endpoint => ({ method, path, access, summary, handle });

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

interface PageRequest {
  readonly limit: number;
  readonly after: number | null;
}

export function pageRequest(call: Call): PageRequest {
  return { limit: readLimit(call), after: readCursor(call, "cursor") };
}

export function readLimit(call: Call, max = MAX_LIMIT): number {
  const text = call.query("limit");
  if (text === null) return DEFAULT_LIMIT;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= max) return limit;
  throw invalid([problem("limit", `must be an integer from 1 to ${max}`, limit > max ? "maximum" : "minimum")]);
}

export function readChoice<T extends string>(call: Call, name: string, allowed: readonly T[]): T | null {
  const requested = call.query(name);
  if (requested === null) return null;
  const choice = allowed.find((known) => known === requested);
  if (choice) return choice;
  throw invalid([problem(name, `must be one of ${allowed.join(", ")}`, "enum", allowed)]);
}

/** Query parameters that filter a list. A cursor is valid only with the same filters. */
const FILTERS = ["start", "end", "model", "key_id"];

function listOf(call: Call): string {
  const [path = ""] = (call.incoming.url ?? "").split("?", 1);
  return hash("sha256", JSON.stringify([path, ...FILTERS.map((name) => call.query(name))])).slice(0, 8);
}

export function cursorOf(call: Call, position: number): string {
  return Buffer.from(`c2:${listOf(call)}:${position}`).toString("base64url");
}

export function readCursor(call: Call, field: "cursor" | "logs_after"): number | null {
  const text = call.query(field);
  if (text === null) return null;
  const [, list, position] =
    /^c2:([\da-f]{8}):(\d{1,15})$/.exec(Buffer.from(text, "base64url").toString("latin1")) ?? [];
  if (list === listOf(call)) return Number(position);
  throw invalid([problem(field, "is not a cursor for this list", "format")]);
}

export function pageOf<Row>(
  call: Call,
  rows: readonly Row[],
  limit: number,
  position: (row: Row) => number,
  view: (row: Row) => unknown,
) {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    data: shown.map(view),
    next_cursor: rows.length > limit && last !== undefined ? cursorOf(call, position(last)) : null,
  };
}

export function newestFirst<Row extends { readonly seq: number }>(
  call: Call,
  read: (before: number, count: number) => readonly Row[],
  view: (row: Row) => unknown,
): Answer {
  const { limit, after } = pageRequest(call);
  const rows = read(after ?? Number.MAX_SAFE_INTEGER, limit + 1);
  return ok(pageOf(call, rows, limit, (row) => row.seq, view));
}
