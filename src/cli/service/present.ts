import type { Client } from "../../core/api/index.ts";
import { type DocumentName, toDocument } from "../../core/kit/document.ts";
import { ExitCode } from "../cli-error.ts";
import { type Context, withShowrunner } from "../context.ts";
import { wholeNumber } from "../input/flag-values.ts";
import type { ServiceFlags } from "../program/flags.ts";
import { visible, visibleLines } from "../text/escape.ts";
import { shorten, table } from "../text/table.ts";

export function columns<Row extends object>(
  items: readonly Row[],
  fields: readonly DocumentName<keyof Row & string>[],
): Columns {
  return { items, fields };
}

export function listText({ items, fields }: Columns, width?: number): string {
  const rows = items.map((item) => toDocument(item) as Readonly<Record<string, unknown>>);
  return table(
    rows,
    fields.map((field) => ({ title: field, value: (row: (typeof rows)[number]) => cell(row[field]), flexible: true })),
    width,
  );
}

export function oneText(value: object): string {
  const entries = Object.entries(toDocument(value) as object);
  const wide = Math.max(0, ...entries.map(([key]) => key.length));
  return entries.map(([key, inner]) => `${visible(key).padEnd(wide)}  ${cell(inner)}`).join("\n");
}

const longest = 400;

function cell(value: unknown): string {
  if (value === null || value === undefined) return "–";
  return shorten(visible(typeof value === "object" ? JSON.stringify(value) : String(value)), longest);
}

export function printList<Row extends object>(
  { io, output }: Context,
  { json }: Pick<ServiceFlags, "json">,
  items: readonly Row[],
  fields: readonly DocumentName<keyof Row & string>[],
): void {
  if (json) output.printJson(toDocument(items));
  else if (items.length > 0) output.print(listText({ items, fields }, io.stdout.columns));
  else output.say("Nothing found.");
}

export function printOne(
  { output }: Context,
  { json }: Pick<ServiceFlags, "json">,
  value: object,
  text: string | null = null,
): void {
  if (json) return output.printJson(toDocument(value));
  output.print(oneText(value));
  if (text !== null) output.print(`\n${visibleLines(text)}`);
}

export async function withClient(
  flags: ServiceFlags,
  options: { readonly keyOptional?: boolean },
  call: (client: Client) => Promise<void>,
): Promise<ExitCode> {
  await withShowrunner(flags, ({ client }) => call(client), options);
  return ExitCode.done;
}

export function limitOf({ limit }: { readonly limit?: string | undefined }, byDefault: number): number {
  return limit === undefined ? byDefault : wholeNumber("--limit", limit, [1, 1_000_000], 20);
}

export async function some<T>(items: AsyncIterable<T>, most: number): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const item of items) {
    found.push(item);
    if (found.length >= most) break;
  }
  return found;
}

export interface Columns {
  readonly items: readonly object[];
  readonly fields: readonly string[];
}
