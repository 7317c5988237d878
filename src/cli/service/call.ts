import type { Client } from "../../api/index.ts";
import type { Context, ServiceFlags } from "../context.ts";

export interface CallFlags extends ServiceFlags {
  readonly json?: boolean;
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
  | { readonly type: "list"; readonly items: readonly object[]; readonly fields: readonly string[] }
  /** `rows`: a member of the value that is shown as a table below the others. */
  | { readonly type: "one"; readonly value: object; readonly rows?: Rows }
  | { readonly type: "lines"; readonly lines: AsyncIterable<{ readonly text: string; readonly value: object }> }
  | { readonly type: "done"; readonly said: string };

interface Rows {
  readonly of: string;
  readonly items: readonly object[];
  readonly fields: readonly string[];
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
  /** Loaded when called, so that help stays light. */
  readonly load: () => Promise<Perform>;
}

/** At most so many items of a listing; `--limit`, default 20. */
export async function some<T>(items: AsyncIterable<T>, limit: unknown): Promise<T[]> {
  const most = typeof limit === "string" && /^[1-9]\d*$/.test(limit) ? Number(limit) : 20;
  const taken: T[] = [];
  for await (const item of items) {
    taken.push(item);
    if (taken.length >= most) break;
  }
  return taken;
}

/** A flag that holds text. */
export function textFlag(flags: CallFlags, name: string): string | undefined {
  const value = flags[name];
  return typeof value === "string" ? value : undefined;
}
