import type { Client } from "../../core/api/index.ts";
import type { Context, ServiceFlags } from "../context.ts";

export interface CallFlags extends ServiceFlags {
  readonly [flag: string]: unknown;
}

/** What a call has to work with. */
export interface Call {
  readonly client: Client;
  /** Positional arguments, all present. */
  readonly args: readonly string[];
  readonly flags: CallFlags;
  readonly context: Context;
}

/** What a call found: a list (with the fields that fit a table), one thing, lines as they come, or nothing to show. */
export type Answer =
  | ({ readonly type: "list" } & Columns)
  /** `text`: shown in full below the value. */
  | { readonly type: "one"; readonly value: object; readonly text?: string }
  | { readonly type: "lines"; readonly lines: AsyncIterable<{ readonly text: string; readonly value: object }> }
  | { readonly type: "done"; readonly said: string };

export type Perform = (call: Call) => Promise<Answer>;

/** At most so many items of a listing; `--limit`, default 20. */
export async function some<T>(items: AsyncIterable<T>, limit: unknown): Promise<T[]> {
  const most = typeof limit === "string" && /^[1-9]\d*$/.test(limit) ? Number(limit) : 20;
  const found: T[] = [];
  for await (const item of items) {
    found.push(item);
    if (found.length >= most) break;
  }
  return found;
}

/** A flag that holds text. */
export function textFlag(flags: CallFlags, name: string): string | undefined {
  const value = flags[name];
  return typeof value === "string" ? value : undefined;
}

type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : "";

export type WireName<Key extends string> = Snake<Key extends `${infer Name}Micros` ? Name : Key>;

/** Rows, and those of their fields (names as in the wire form) that fit a table. */
export interface Columns {
  readonly items: readonly object[];
  readonly fields: readonly string[];
}
