import type { Client } from "../../api/index.ts";
import { dollars } from "../../money.ts";
import { CliError } from "../cli-error.ts";
import type { Context, ServiceFlags } from "../context.ts";
import { confirm } from "../input/confirm.ts";
import { readInput } from "../input/read-input.ts";
import type { Columns } from "./present.ts";

/** A model's input from `--input` and `-i`; it is an object. */
export async function readCallInput(flags: CallFlags, { io }: Context): Promise<Readonly<Record<string, unknown>>> {
  const i = Array.isArray(flags.i) ? flags.i.filter((one): one is string => typeof one === "string") : [];
  const input = await readInput({ input: textFlag(flags, "input"), i }, io.cwd);
  if (isObject(input)) return input;
  throw new CliError("INPUT_INVALID", "a model's input is an object", {
    next: `--input '{"prompt": "…"}', or -i prompt="…"`,
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A paid call on a hosted service needs `--yes`, or a yes on the terminal. */
export async function confirmPrice(
  { kind, flags, context }: Call,
  costMicros: number | null,
  again: string,
): Promise<void> {
  if (kind === "local" || flags.yes === true) return;
  const price = costMicros === null ? "an amount that cannot be quoted" : dollars(costMicros);
  const what = `This spends real money (${price})`;
  const refused = "Not sent; nothing was spent";
  await confirm(context.io, { yes: false, question: `Spend ${price}?`, what, refused, next: again });
}

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
