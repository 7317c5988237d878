import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, extname, resolve } from "node:path";
import canonicalize from "canonicalize";
import type { BulkRow } from "../../index.ts";
import { parseJson } from "../../json-text.ts";
import { CliError } from "../cli-error.ts";
import { visible } from "../text/escape.ts";
import { type Cell, type Column, columnsOf } from "./row-columns.ts";

/** A row of a file, and the line that it begins on. */
export interface FileRow extends BulkRow {
  readonly line: number;
}

export interface RowMistake {
  readonly line: number;
  /** Name of the column, or its number; null where the whole row is meant. */
  readonly column: string | null;
  readonly message: string;
}

export type RowsFile =
  | { readonly ok: true; readonly rows: readonly FileRow[] }
  | { readonly ok: false; readonly mistakes: readonly RowMistake[] };

/** What the ids of the rows are made from, beside the rows. */
export interface RowsOf {
  readonly cwd: string;
  /** Name of the rows together. Default: that of the file. */
  readonly name?: string | undefined;
  readonly pipeline: string;
  readonly profile?: string | undefined;
  /** JSON Schema of the input: cells are text only where it says so. */
  readonly schema: unknown;
  /** What is the same in every row. */
  readonly base: { readonly [field: string]: unknown };
}

/** Reads `rows.csv`, `rows.tsv` or `rows.jsonl`; all mistakes at once. */
export async function readRows(file: string, of: RowsOf): Promise<RowsFile> {
  const path = resolve(of.cwd, file);
  const kind = extname(path).toLowerCase();
  const text = await readText(path);
  if (kind === ".csv" || kind === ".tsv") return rowsOf(path, await csvRecords(text, kind === ".tsv" ? "\t" : ","), of);
  if (kind === ".jsonl" || kind === ".ndjson") return rowsOf(path, jsonRecords(text), of);
  throw new CliError("USAGE", `--each ${visible(file)} is no .csv, .tsv or .jsonl file`, {
    next: "name a file with one row a run: --each rows.csv",
  });
}

async function readText(path: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).replace(/^\uFEFF/, "");
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code === "ENOENT" ? "does not exist" : "cannot be read";
    throw new CliError("INPUT_INVALID", `${visible(path)} ${why}`, { next: "check the path after --each", cause });
  }
}

interface TableRow {
  readonly line: number;
  readonly cells: readonly Cell[];
}

type Records = {
  /** The line that names the columns; null where each row does. */
  readonly headerLine: number | null;
  readonly records: readonly TableRow[];
  readonly mistakes: readonly RowMistake[];
};

async function csvRecords(text: string, delimiter: string): Promise<Records> {
  const { parse } = await import("csv-parse/sync");
  let lines: readonly { readonly record: readonly string[]; readonly info: { readonly lines: number } }[];
  try {
    lines = parse(text, { delimiter, info: true, relax_column_count: true, skip_empty_lines: true }) as never;
  } catch (error) {
    const { lines: line = 1, message } = error as { readonly lines?: number; readonly message: string };
    return { headerLine: 1, records: [], mistakes: [{ line, column: null, message }] };
  }
  const [head, ...rows] = lines;
  if (head === undefined)
    return { headerLine: 1, records: [], mistakes: [{ line: 1, column: null, message: "has no header" }] };
  const names = head.record.map((name) => name.trim());
  const mistakes: RowMistake[] = names.flatMap((name, at) => {
    if (name === "") return [{ line: 1, column: `${at + 1}`, message: "has no name in the header" }];
    return names.indexOf(name) < at ? [{ line: 1, column: name, message: "stands twice in the header" }] : [];
  });
  const records = rows.flatMap(({ record, info }): readonly TableRow[] => {
    // The parser counts to the end of the row, which may be lines after its beginning.
    const line = info.lines - record.join("").split("\n").length + 1;
    if (record.length !== names.length) {
      mistakes.push({ line, column: null, message: `has ${record.length} cells, the header ${names.length}` });
      return [];
    }
    return [{ line, cells: record.map((value, at) => ({ column: names[at]!, text: value })) }];
  });
  return { headerLine: 1, records, mistakes };
}

function jsonRecords(text: string): Records {
  const mistakes: RowMistake[] = [];
  const records = text.split("\n").flatMap((written, at): readonly TableRow[] => {
    if (written.trim() === "") return [];
    const line = at + 1;
    const parsed = parseJson(written);
    if ("mistake" in parsed) {
      mistakes.push({ line, column: `${parsed.mistake.column}`, message: `is no JSON: ${parsed.mistake.message}` });
      return [];
    }
    const { value } = parsed;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      mistakes.push({ line, column: null, message: "is no JSON object" });
      return [];
    }
    return [{ line, cells: Object.entries(value).map(([column, json]) => ({ column, json })) }];
  });
  return { headerLine: null, records, mistakes };
}

function rowsOf(path: string, { headerLine, records, mistakes }: Records, of: RowsOf): RowsFile {
  if (mistakes.length > 0) return { ok: false, mistakes };
  const columns = new Map<string, Column | string>();
  const unknown: RowMistake[] = [];
  for (const { line, cells } of records) {
    for (const { column } of cells) {
      if (columns.has(column)) continue;
      const known = columnsOf(column, of.schema);
      columns.set(column, known);
      if (typeof known === "string") unknown.push({ line: headerLine ?? line, column, message: known });
    }
  }
  if (unknown.length > 0) return { ok: false, mistakes: unknown };
  if (records.length === 0) return { ok: false, mistakes: [{ line: 1, column: null, message: "has no rows" }] };
  const stem = (of.name ?? basename(path, extname(path)))
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "");
  const wrong: RowMistake[] = [];
  const rows = records.map(({ line, cells }): FileRow => {
    const input = structuredClone(of.base) as { [field: string]: unknown };
    const tags: { [key: string]: string } = {};
    const notes: { [name: string]: unknown } = {};
    for (const cell of cells) {
      const message = (columns.get(cell.column) as Column).put(cell, { input, tags, notes });
      if (message !== null) wrong.push({ line, column: cell.column, message });
    }
    const content = { pipeline: of.pipeline, profile: of.profile ?? null, input, tags, notes };
    const hash = createHash("sha256")
      .update(canonicalize(content) ?? "")
      .digest("hex")
      .slice(0, 12);
    return { line, id: `${stem.slice(0, 80) || "row"}-${hash}`, input, tags };
  });
  return wrong.length > 0 ? { ok: false, mistakes: wrong } : { ok: true, rows };
}
