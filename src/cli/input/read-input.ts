import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Json } from "../../internal.ts";
import { parseJson } from "../../json-text.ts";
import { CliError } from "../cli-error.ts";
import { visible, visibleError } from "../text/escape.ts";

/** Refuses a run id that could not be the name of its log, before anything is opened. */
export function checkFileName(id: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(id)) return;
  throw new CliError("USAGE", `--id ${visible(id)} is no run id`, {
    next: "use up to 100 letters, digits, dots, underscores and hyphens",
  });
}

export interface InputFlags {
  /** JSON, or `@file`. */
  readonly input?: string | undefined;
  /**
   * Repeated: `key=text`, `key:=json`, or `key=@rows.csv` and `key=@value.json`, which read a file; dots reach into objects.
   * Applied over `--input`, in order.
   */
  readonly i?: readonly string[] | undefined;
}

/** The pipeline input that the flags spell; an empty object when there are none. */
export async function readInput(flags: InputFlags, cwd: string): Promise<unknown> {
  const base = flags.input === undefined ? {} : await readJson(flags.input, cwd);
  if (!flags.i?.length) return base;
  if (typeof base !== "object" || base === null || Array.isArray(base)) {
    throw wrong("-i sets fields of an object, but --input is no object", "leave out -i, or give --input an object");
  }
  const result: Record<string, unknown> = structuredClone(base) as Record<string, unknown>;
  for (const assignment of flags.i) await assign(result, assignment, cwd);
  return result;
}

async function readJson(flag: string, cwd: string): Promise<unknown> {
  const file = flag.startsWith("@") ? resolve(cwd, flag.slice(1)) : null;
  const text = file === null ? flag : await readText(file, "--input");
  return parsed(text, file === null ? "--input" : visible(file));
}

/** A value given as a text, or by a file after `@`: JSON where its name ends so, else text. */
export async function readTextOrFile(flag: string, text: string, cwd: string): Promise<Json> {
  if (!text.startsWith("@")) return text;
  const file = resolve(cwd, text.slice(1));
  const held = await readText(file, flag);
  return file.toLowerCase().endsWith(".json") ? (parsed(held, visible(file)) as Json) : held;
}

async function readText(file: string, flag: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).replace(/^\uFEFF/, "");
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code === "ENOENT" ? "does not exist" : "cannot be read";
    throw wrong(`input file ${visible(file)} ${reason}`, `check the path after ${flag} @`, cause);
  }
}

function parsed(text: string, where: string): unknown {
  const outcome = parseJson(text);
  if ("value" in outcome) return outcome.value;
  const { line, column, message } = outcome.mistake;
  throw wrong(
    `${where} is not valid JSON at line ${line}, column ${column}: ${visible(message)}\n${pointer(text, line, column)}`,
    `quote JSON for the shell: --input '{"key": "value"}', or put it in a file: --input @input.json`,
  );
}

/** Characters shown on either side of a mistake. */
const around = 50;

/** The part of the line around the mistake, with a caret under it. */
function pointer(text: string, line: number, column: number): string {
  const whole = text.split("\n")[line - 1] ?? "";
  const from = Math.max(0, column - 1 - around);
  const before = visible(whole.slice(from, column - 1));
  return `  ${before}${visible(whole.slice(column - 1, column - 1 + around))}\n  ${" ".repeat(before.length)}^`;
}

/** The value that a file holds: JSON, or an object of texts for each row of a table, named by its first line. */
async function readValue(name: string, path: string, cwd: string): Promise<unknown> {
  const file = resolve(cwd, name);
  const text = await readText(file, `-i ${visible(path)}=`);
  if (name.toLowerCase().endsWith(".json")) return parsed(text, visible(file));
  const { parse } = await import("csv-parse/sync");
  try {
    return parse(text, { columns: true, trim: true, skip_empty_lines: true });
  } catch (cause) {
    throw wrong(
      `${visible(file)} is no table: ${visibleError(cause)}`,
      "give each row as many cells as the first line has",
      cause,
    );
  }
}

/** Nothing that is meant lies deeper. */
const MOST_LEVELS = 100;

async function assign(target: Record<string, unknown>, assignment: string, cwd: string): Promise<void> {
  const found = /^([^=:]+?)(:?=)([\s\S]*)$/.exec(assignment);
  const [, path = "", sign, text = ""] = found ?? [];
  if (!found) {
    throw wrong(
      `-i ${visible(assignment)} is no assignment`,
      'write -i key=text, -i key:=json or -i key=@rows.csv, e.g. -i style="a sailor" -i takes:=3',
    );
  }
  const [, file] = /^@(.+\.(?:csv|json))$/i.exec(text) ?? [];
  const read = async () => (file === undefined ? text : await readValue(file, path, cwd));
  const value = sign === ":=" ? parsed(text, `-i ${visible(path)}`) : await read();
  const keys = path.split(".");
  if (keys.length > MOST_LEVELS) {
    throw wrong(
      `-i ${visible(path.slice(0, 60))}… has ${keys.length} levels; at most ${MOST_LEVELS} are read`,
      "set the whole value with :=",
    );
  }
  const last = keys.pop() ?? "";
  let parent = target;
  for (const key of keys) parent = childObject(parent, key, path);
  Object.defineProperty(parent, last, { value, enumerable: true, writable: true, configurable: true });
}

function childObject(parent: Record<string, unknown>, key: string, path: string): Record<string, unknown> {
  const existing = Object.hasOwn(parent, key) ? parent[key] : undefined;
  if (existing === undefined) {
    const created: Record<string, unknown> = {};
    Object.defineProperty(parent, key, { value: created, enumerable: true, writable: true, configurable: true });
    return created;
  }
  if (typeof existing !== "object" || existing === null) {
    throw wrong(`-i ${visible(path)} reaches into ${visible(key)}, which is no object`, "set the whole value with :=");
  }
  return existing as Record<string, unknown>;
}

function wrong(message: string, next: string, cause?: unknown): CliError {
  return new CliError("INPUT_INVALID", message, { next, cause });
}
