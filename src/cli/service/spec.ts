import type { Client } from "../../api/index.ts";
import type { Context, ServiceFlags } from "../context.ts";
import type { Columns, WireName } from "./present.ts";

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
  readonly kind: "hosted" | "local";
}

/** What a call found: a list (with the fields that fit a table), one thing, lines as they come, or nothing to show. */
export type Answer =
  | ({ readonly type: "list" } & Columns)
  /** `rows`: a member of the value that is shown as a table below the others. */
  | { readonly type: "one"; readonly value: object; readonly rows?: Rows }
  | { readonly type: "lines"; readonly lines: AsyncIterable<{ readonly text: string; readonly value: object }> }
  | { readonly type: "done"; readonly said: string };

interface Rows extends Columns {
  readonly of: string;
}

export type Perform = (call: Call) => Promise<Answer>;

/** One command of the API as it stands in the help. */
export interface CallSpec {
  /** Group and verb, e.g. `jobs get`; a group of one word has no verb. */
  readonly name: string;
  readonly description: string;
  /** Positional arguments in commander's form: `<job-id>`. */
  readonly args?: readonly string[];
  readonly options?: readonly (readonly [flags: string, description: string])[];
  /** What it performs; loaded when called where it is more than one request, so that help stays light. */
  readonly load: () => Promise<Perform>;
}

/** A call that answers with one thing. */
export function one(get: (client: Client, args: readonly string[], flags: CallFlags) => Promise<object>) {
  return async (): Promise<Perform> => async (call) => {
    return { type: "one", value: await get(call.client, call.args, call.flags) };
  };
}

/** A call that answers with a list; `most` is how many are listed without `--limit`. */
export function list<Row extends object>(
  items: (call: Call) => AsyncIterable<Row>,
  fields: readonly WireName<keyof Row & string>[],
  most = 1000,
) {
  return async (): Promise<Perform> => async (call) => {
    return { type: "list", items: await some(items(call), call.flags.limit ?? String(most)), fields };
  };
}

/** A call that answers with nothing to show. */
export function done(act: (client: Client, args: readonly string[]) => Promise<unknown>, said: (id: string) => string) {
  return async (): Promise<Perform> => async (call) => {
    await act(call.client, call.args);
    return { type: "done", said: said(call.args[0] ?? "") };
  };
}

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
