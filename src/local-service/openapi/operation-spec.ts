import type { JsonSchema } from "../catalog/model.ts";
import type { ErrorCode } from "../http/refusal.ts";

/** What an endpoint's description adds to its row in the table. */
export interface OperationSpec {
  readonly tag: string;
  readonly operationId: string;
  /** By name. */
  readonly query?: Readonly<Record<string, JsonSchema>>;
  readonly headers?: Readonly<Record<string, JsonSchema>>;
  readonly body?: RequestBody;
  readonly success: Success;
  /** In addition to those common to every endpoint of its kind. */
  readonly errors?: readonly ErrorCode[];
}

export interface RequestBody {
  readonly mediaType: "application/json" | "multipart/form-data" | "application/x-www-form-urlencoded";
  readonly schema: JsonSchema;
  /** Default: true. */
  readonly required?: boolean;
}

export interface Success {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  /** By media type; none for an empty response. */
  readonly content?: Readonly<Record<string, JsonSchema>>;
  /**
   * An event stream, in place of `content` or in addition: its data is component `<name>Data`, a whole frame
   * `<name>Frame`.
   */
  readonly stream?: "JobStream" | "ChatCompletionStream";
  /** By name; header objects. */
  readonly headers?: Readonly<Record<string, object>>;
}

/** By `METHOD /path`. */
export type Specs = Readonly<Record<string, OperationSpec>>;

export function json(schema: JsonSchema, description: string, status: 200 | 201 | 202 = 200): Success {
  return { status, description, content: { "application/json": schema } };
}

export const empty = (description: string): Success => ({ status: 204, description });

export function jsonBody(schema: JsonSchema, required = true): RequestBody {
  return { mediaType: "application/json", schema, required };
}

/** `limit` and `cursor` of every list. */
export const PAGE_QUERY: Readonly<Record<string, JsonSchema>> = {
  limit: { type: "integer", minimum: 1, maximum: 100, default: 20 },
  cursor: { type: "string", description: "next_cursor of the page before; absent for the first." },
};
