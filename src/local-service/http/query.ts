import { type Answer, type Call, ok } from "./call.ts";
import { invalid, problem } from "./refusal.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

/** A page's cursor, size and direction. The cursor is opaque. */
export interface PageRequest {
  readonly limit: number;
  /** The last item of the previous page; null for the first page. */
  readonly after: number | null;
}

/** Reads `limit` and `cursor`. @throws Refusal 400 */
export function pageRequest(call: Call): PageRequest {
  return { limit: readLimit(call.query("limit")), after: readCursor(call.query("cursor"), "cursor") };
}

function readLimit(text: string | null): number {
  if (text === null) return DEFAULT_LIMIT;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw invalid([
    problem("limit", `must be an integer from 1 to ${MAX_LIMIT}`, limit > MAX_LIMIT ? "maximum" : "minimum"),
  ]);
}

/** Encodes a position as an opaque cursor. */
export function cursorOf(position: number): string {
  return Buffer.from(`c1:${position}`).toString("base64url");
}

/** @throws Refusal 400 for a cursor that no page returned */
export function readCursor(text: string | null, field: string): number | null {
  if (text === null) return null;
  const match = /^c1:(\d{1,15})$/.exec(Buffer.from(text, "base64url").toString("latin1"));
  if (match) return Number(match[1]);
  throw invalid([problem(field, "is not a cursor that a page returned", "format")]);
}

/** The list shape, of one row more than it shows, to know whether there is a next page. */
export function pageOf<Row>(
  rows: readonly Row[],
  limit: number,
  position: (row: Row) => number,
  view: (row: Row) => unknown,
) {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    data: shown.map(view),
    next_cursor: rows.length > limit && last !== undefined ? cursorOf(position(last)) : null,
  };
}

/** Answers with a page of rows, newest first; `read` gives those before a position. @throws Refusal 400 */
export function newestFirst<Row extends { readonly seq: number }>(
  call: Call,
  read: (before: number, count: number) => readonly Row[],
  view: (row: Row) => unknown,
): Answer {
  const { limit, after } = pageRequest(call);
  return ok(pageOf(read(after ?? Number.MAX_SAFE_INTEGER, limit + 1), limit, (row) => row.seq, view));
}
