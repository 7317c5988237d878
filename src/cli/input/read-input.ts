import { resolve } from "node:path";
import { type JsonMistake, MOST_LEVELS, parseJson } from "../../core/kit/json-text.ts";
import { shellWord } from "../../core/kit/value-text.ts";
import type { Json, Pipeline } from "../../index.ts";
import { CliError } from "../cli-error.ts";
import type { Io } from "../io.ts";
import type { Flags, TableFlags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { firstLines } from "../text/table.ts";
import { kindOf } from "./named-file.ts";
import { fieldAt, readItems, type Schema, setField, takesText, typeOf } from "./rows-file.ts";
import { readTextFile } from "./table-file.ts";

/** Flags for a pipeline's input. A later `-i` overrides an earlier `-i` and `--input`. */
export type InputFlags = Partial<Pick<Flags["run"], "input" | "i" | keyof TableFlags>>;

export async function inputSchema({ input }: Pipeline): Promise<Schema> {
  const { z } = await import("zod");
  try {
    return z.toJSONSchema(input, { io: "input", unrepresentable: "any" }) as Schema;
  } catch {
    return {};
  }
}

type InputIo = Pick<Io, "cwd" | "ask">;

interface Reading {
  readonly flags: TableFlags;
  readonly io: InputIo;
  readonly schema: Schema;
}

export async function readInput(flags: InputFlags, io: InputIo, schema: Schema = {}): Promise<unknown> {
  const base = flags.input === undefined ? {} : await readJson("--input", flags.input, io);
  if (!flags.i?.length) return base;
  if (typeof base !== "object" || base === null || Array.isArray(base)) {
    throw wrong("-i sets fields of an object, but --input is not an object", "omit -i, or pass an object to --input");
  }
  const result: Record<string, unknown> = structuredClone(base) as Record<string, unknown>;
  for (const assignment of flags.i) await assign(result, assignment, { flags, io, schema });
  return result;
}

export async function readJson(flag: string, given: string, io: InputIo): Promise<unknown> {
  if (given.startsWith("@")) {
    const file = resolve(io.cwd, given.slice(1));
    return parsedJson(await readTextFile(file, `${flag} @`, null, io), visible(file), flag);
  }
  const outcome = parseJson(given, MOST_LEVELS);
  if ("value" in outcome) return outcome.value;
  if ((await kindOf(resolve(io.cwd, given))) !== "file") throw notJson(given, outcome.mistake, flag, flag);
  const next = `to read the file: ${flag} ${visible(shellWord(`@${given}`))}`;
  throw wrong(`${flag} ${visible(given)} is a file name, not JSON`, next);
}

export async function readTextOrFile(flag: string, text: string, io: InputIo): Promise<Json> {
  if (!text.startsWith("@")) return text;
  const file = resolve(io.cwd, text.slice(1));
  const held = await readTextFile(file, `${flag} @`, null, io);
  return file.toLowerCase().endsWith(".json") ? (parsedJson(held, visible(file)) as Json) : held;
}

export function parsedJson(text: string, where: string, flag = "--input"): unknown {
  const outcome = parseJson(text, MOST_LEVELS);
  if ("value" in outcome) return outcome.value;
  throw notJson(text, outcome.mistake, where, flag);
}

function notJson(text: string, { line, column, message, isValid }: JsonMistake, where: string, flag: string) {
  return wrong(
    `${where} ${isValid ? "has an unusable value" : "is not valid JSON"} at line ${line}, column ${column}: ${visible(message)}\n${pointer(text, line, column)}`,
    isValid
      ? "correct the value and try again"
      : `quote JSON for the shell: ${flag} '{"key": "value"}', or put it in a file: ${flag} @input.json`,
  );
}

const around = 50;

function pointer(text: string, line: number, column: number): string {
  const whole = text.split("\n")[line - 1] ?? "";
  const from = Math.max(0, column - 1 - around);
  const before = visible(whole.slice(from, column - 1));
  return `  ${before}${visible(whole.slice(column - 1, column - 1 + around))}\n  ${" ".repeat(before.length)}^`;
}

async function readValue(name: string, path: string, { flags, io, schema }: Reading): Promise<unknown> {
  const file = resolve(io.cwd, name);
  const isJson = name.toLowerCase().endsWith(".json");
  const text = await readTextFile(file, `-i ${visible(path)}=@`, isJson ? null : flags, io);
  if (isJson) return parsedJson(text, visible(file));
  const schemaOfItems = fieldAt(schema, path.split("."))?.items ?? {};
  const { items, mistakes } = await readItems(text, flags, schemaOfItems);
  if (mistakes.length === 0) return items;
  const shown = firstLines(mistakes, MOST_FAULTS, ({ line, column, message }) => {
    return `line ${line}${column === null ? "" : `, column ${visible(column)}`}: ${visible(message)}`;
  }).join("\n  ");
  throw wrong(`${visible(file)} has mistakes:\n  ${shown}`, "correct the file and try again");
}

const MOST_FAULTS = 20;
const MOST_KEYS = 100;

async function assign(target: Record<string, unknown>, assignment: string, reading: Reading): Promise<void> {
  const found = /^([^=:]+?)(:?=)([\s\S]*)$/.exec(assignment);
  const [, path = "", sign, text = ""] = found ?? [];
  if (!found) {
    throw wrong(
      `-i ${visible(assignment)} is not an assignment`,
      'write -i key=text, -i key:=json or -i key=@rows.csv, e.g. -i style="a sailor" -i takes:=3',
    );
  }
  const [, file] = /^@(.+\.(?:csv|json))$/i.exec(text) ?? [];
  const read = async () => (file === undefined ? text : await readValue(file, path, reading));
  const keys = path.split(".");
  const field = fieldAt(reading.schema, keys.slice(0, MOST_KEYS));
  if (sign === "=" && file === undefined && field !== null && !takesText(field)) {
    const next = `write -i ${visible(path)}:=${"value" in parseJson(text) ? visible(text) : "JSON"}`;
    throw wrong(`-i ${visible(assignment)}: "=" sets text, but ${visible(path)} has type ${typeOf(field)}`, next);
  }
  const value = sign === ":=" ? parsedJson(text, `-i ${visible(path)}`) : await read();
  if (keys.length > MOST_KEYS) {
    throw wrong(
      `-i ${visible(path.slice(0, 60))}… has ${keys.length} levels; the maximum is ${MOST_KEYS}`,
      "set the whole value with :=",
    );
  }
  const obstacle = setField(target, keys, value);
  if (obstacle === null) return;
  const message = `-i ${visible(path)} sets a field of ${visible(obstacle)}, which is not an object`;
  throw wrong(message, "set the whole value with :=");
}

function wrong(message: string, next: string): CliError {
  return new CliError("INPUT_INVALID", message, { next });
}
