import type { IncomingMessage, ServerResponse } from "node:http";
import type { Principal, Scope } from "../access/principal.ts";

/** One request, as handlers see it. */
export interface Call {
  readonly method: string;
  /** Path parameters, decoded. */
  param(name: string): string;
  /** Query parameter; null when absent. The last of repeated ones is used. */
  query(name: string): string | null;
  header(name: string): string | null;
  /** The body as JSON; `{}` for an empty one. @throws Refusal 400 */
  json(): Promise<unknown>;
  /** The caller. Only on endpoints that need a credential. */
  readonly principal: Principal;
  readonly traceId: string;
  /** For handlers that stream: headers every response carries. */
  readonly standardHeaders: Readonly<Record<string, string>>;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

export type Headers = Readonly<Record<string, string>>;

export type Answer =
  | { readonly is: "json"; readonly status: number; readonly body: unknown; readonly headers?: Headers }
  | { readonly is: "text"; readonly status: number; readonly body: string; readonly headers: Headers }
  | { readonly is: "empty"; readonly status: number; readonly headers?: Headers }
  /** The handler wrote to the socket itself. */
  | { readonly is: "sent"; readonly status: number };

export const ok = (body: unknown, headers: Headers = {}): Answer => ({ is: "json", status: 200, body, headers });
export const created = (body: unknown): Answer => ({ is: "json", status: 201, body });
export const noContent: Answer = { is: "empty", status: 204 };

/** Required access: a scope, any key (`"key"`, no token), any credential, or none. */
export type Access = Scope | "key" | "credential" | "public";

/** One row of the service's table of endpoints. */
export interface Endpoint {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below `/v3`, in braces: `/jobs/{job_id}`. */
  readonly path: string;
  readonly access: Access;
  /** Accepts requests without a credential; one that is sent is still verified. */
  readonly isOpen?: true;
  /** One line for the documentation. */
  readonly summary: string;
  handle(call: Call): Promise<Answer> | Answer;
}

/** A row of the table. */
export const endpoint = (
  method: Endpoint["method"],
  path: string,
  access: Access,
  summary: string,
  handle: Endpoint["handle"],
): Endpoint => ({ method, path, access, summary, handle });
