import { redactUrls } from "../../core/kit/clean-text.ts";
import { formatUsd } from "../../core/kit/money.ts";
import type { Showrunner } from "../../internal.ts";
import { ExitCode } from "../cli-error.ts";
import { type Context, withShowrunner } from "../context.ts";
import { visible } from "../text/escape.ts";
import { shorten, table } from "../text/table.ts";
import type { CallFlags, Columns, Perform, WireName } from "./call.ts";

/**
 * A value of the client in the form that programs get: snake_case names as in the API, amounts as decimal strings
 * (`costMicros: 290000` becomes `cost: "0.29"`). An address is whole where one was asked for, in a field such as `url`; in
 * other texts it has no query.
 */
export function wireForm(value: unknown, key = ""): unknown {
  if (typeof value === "string") return /url$/i.test(key) ? value : redactUrls(value);
  if (Array.isArray(value)) return value.map((item) => wireForm(item, key));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const money = key.endsWith("Micros") && (inner === null || typeof inner === "number");
      const name = snake(money ? key.slice(0, -"Micros".length) : key);
      return [
        name,
        money && typeof inner === "number"
          ? formatUsd(inner)
          : verbatim(key)
            ? withoutQueries(inner)
            : wireForm(inner, key),
      ];
    }),
  );
}

function withoutQueries(value: unknown): unknown {
  if (typeof value === "string") return redactUrls(value);
  if (Array.isArray(value)) return value.map(withoutQueries);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutQueries(inner)]));
}

/** Documents of others, whose names are not ours to change. */
function verbatim(key: string): boolean {
  return ["inputSchema", "outputSchema", "data", "labels", "raw"].includes(key);
}

function snake(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A field that the rows do not have in the wire form does not compile. */
export function columns<Row extends object>(
  items: readonly Row[],
  fields: readonly WireName<keyof Row & string>[],
): Columns {
  return { items, fields };
}

export function listText({ items, fields }: Columns, width?: number): string {
  const rows = items.map((item) => wireForm(item) as Readonly<Record<string, unknown>>);
  return table(
    rows,
    fields.map((field) => ({ title: field, value: (row: (typeof rows)[number]) => cell(row[field]), flexible: true })),
    width,
  );
}

/** One thing as aligned lines; what is nested stands as JSON. */
export function oneText(value: object): string {
  const entries = Object.entries(wireForm(value) as object);
  const wide = Math.max(0, ...entries.map(([key]) => key.length));
  return entries.map(([key, inner]) => `${visible(key).padEnd(wide)}  ${cell(inner)}`).join("\n");
}

const longest = 400;

function cell(value: unknown): string {
  if (value === null || value === undefined) return "–";
  return shorten(visible(typeof value === "object" ? JSON.stringify(value) : String(value)), longest);
}

/**
 * Performs one call of the API and shows its answer; `given` are its arguments and flags. `keyOptional`: it is tried without a key
 * where none is set, as some services show their catalog to everybody.
 */
export async function performCall(
  perform: Perform,
  context: Context,
  given: readonly unknown[],
  { keyOptional }: { readonly keyOptional: boolean },
): Promise<ExitCode> {
  const { io, output } = context;
  const args = given.slice(0, -1).map(String);
  const flags = given.at(-1) as CallFlags;
  const call = async (show: Showrunner) => {
    const answer = await perform({ client: show.client, args, flags, context });
    switch (answer.type) {
      case "list":
        if (flags.json) output.printJson(wireForm(answer.items));
        else if (answer.items.length > 0) output.print(listText(answer, io.stdout.columns));
        else output.say("none");
        return ExitCode.done;
      case "one":
        if (flags.json) output.printJson(wireForm(answer.value));
        else {
          const { value, text } = answer;
          output.print(oneText(value));
          if (text !== undefined) output.print(`\n${text.split("\n").map(visible).join("\n")}`);
        }
        return ExitCode.done;
      case "lines":
        for await (const { text, value } of answer.lines)
          output.print(flags.json ? JSON.stringify(wireForm(value)) : text);
        return ExitCode.done;
      case "done":
        if (flags.json) output.printJson({ ok: true });
        output.say(visible(answer.said));
        return ExitCode.done;
      default:
        return answer satisfies never;
    }
  };
  return withShowrunner(flags, call, { keyOptional });
}
