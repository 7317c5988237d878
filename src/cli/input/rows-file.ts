import { createHash } from "node:crypto";
import { basename, extname, resolve } from "node:path";
import { MOST_LEVELS, parseJson } from "../../core/kit/json-text.ts";
import { suggest } from "../../core/kit/lookup.ts";
import { canonicalJson } from "../../core/plan/index.ts";
import type { RunRow } from "../../core/view/index.ts";
import type { RunOptions } from "../../index.ts";
import { usageError } from "../cli-error.ts";
import type { Io } from "../io.ts";
import type { TableFlags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { counted } from "../text/table.ts";
import { parseTable, readTextFile } from "./table-file.ts";

type Cell = { readonly column: string } & (
  | { readonly text: string; readonly decimalComma: boolean }
  | { readonly json: unknown }
);

interface Target {
  readonly input: { [field: string]: unknown };
  readonly tags: { [key: string]: string };
  readonly notes: { [name: string]: unknown };
}

/** Parses a cell and stores its value in `target`. Returns an error message if the value is invalid, otherwise null. */
type Column = (cell: Cell, target: Target) => string | null;

export interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: { readonly [name: string]: Schema };
  readonly additionalProperties?: unknown;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

/** Returns the column for a name: an input field, `tag:KEY` or `#NOTE`. Returns an error message for any other name. */
function columnOf(name: string, schema: Schema): Column | string {
  if (name.startsWith("#")) return noteColumn(name);
  if (name.startsWith("tag:")) return (cell, { tags }) => putTag(name.slice(4), cell, tags);
  const keys = name.split(".");
  const found = fieldAt(schema, keys);
  if (found === null) {
    const known = Object.keys(schema.properties ?? {});
    const [meant] = suggest(name, known);
    const hint = meant === undefined ? `use one of ${known.join(", ")}.` : `did you mean ${meant}?`;
    return `is not a field of the input; ${hint} To keep the column as a note, begin its name with #`;
  }
  return (cell, { input }) => putField(keys, cell, found, input);
}

function noteColumn(name: string): Column {
  return (cell, { notes }) => {
    define(notes, name, "text" in cell ? cell.text : cell.json);
    return null;
  };
}

function putTag(key: string, cell: Cell, tags: { [key: string]: string }): string | null {
  const value = "text" in cell ? cell.text : cell.json;
  if (typeof value !== "string") return "must be text";
  if (value !== "") tags[key] = value;
  return null;
}

/** Stores a cell's value in an input field. Leaves the field unset if the cell is empty. */
function putField(keys: readonly string[], cell: Cell, schema: Schema, input: Target["input"]): string | null {
  let value: unknown;
  if ("json" in cell) value = cell.json;
  else {
    if (cell.text === "") return null;
    const [point] = /^-?\d+,\d+$/.test(cell.text.trim()) ? [cell.text.trim().replace(",", ".")] : [];
    const written = cell.decimalComma ? (point ?? cell.text) : cell.text;
    const parsed = takesText(schema) ? { value: cell.text } : parseJson(written.trim(), MOST_LEVELS);
    const hint = point === undefined ? "" : `; write ${point} with a decimal point`;
    const type = typeOf(schema);
    if ("mistake" in parsed && parsed.mistake.isValid) return parsed.mistake.message;
    if ("mistake" in parsed)
      return `${JSON.stringify(cell.text)} is not ${/^[aeio]/.test(type) ? "an" : "a"} ${type}${hint}`;
    value = parsed.value;
  }
  const obstacle = setField(input, keys, value);
  return obstacle === null ? null : `sets a field of ${obstacle}, which is not an object`;
}

/** Sets a field, creating missing parents. Returns the name of the first parent that is not an object, or null. */
export function setField(target: Target["input"], keys: readonly string[], value: unknown): string | null {
  let parent = target;
  for (const key of keys.slice(0, -1)) {
    const child = Object.hasOwn(parent, key) && parent[key] !== undefined ? parent[key] : {};
    if (typeof child !== "object" || child === null) return key;
    define(parent, key, child);
    parent = child as Target["input"];
  }
  define(parent, keys.at(-1)!, value);
  return null;
}

/** Sets a key safely, even if it is `__proto__`. */
function define(target: Target["input"], key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}

export function fieldAt(schema: Schema, keys: readonly string[]): Schema | null {
  const [key, ...rest] = keys;
  if (key === undefined) return schema;
  const { properties, additionalProperties } = schema;
  if (properties !== undefined && Object.hasOwn(properties, key)) return fieldAt(properties[key]!, rest);
  const isOpen =
    properties === undefined || (typeof additionalProperties === "object" && additionalProperties !== null);
  return isOpen || additionalProperties === true ? {} : null;
}

export function takesText(schema: Schema): boolean {
  const types = typesOf(schema);
  return types.length === 0 || types.includes("string");
}

function typesOf({ type, anyOf = [] }: Schema): readonly string[] {
  return [...(type === undefined ? [] : [type].flat()), ...anyOf.flatMap(typesOf)];
}

export function typeOf(schema: Schema): string {
  return typesOf(schema).join(" or ");
}

export interface FileRow {
  readonly id: string;
  readonly input: unknown;
  readonly title?: string | undefined;
  readonly tags?: RunOptions["tags"];
  readonly line: number;
  /** Ids that this row's run would have if another column were the id column. */
  readonly otherIds: readonly string[];
}

export interface RowMistake {
  readonly line: number;
  readonly column: string | null;
  readonly message: string;
}

export interface RowsFile {
  /** The file's rows. If the file has mistakes, only the rows that can still be checked. */
  readonly rows: readonly FileRow[];
  readonly mistakes: readonly RowMistake[];
}

export interface RowsOf {
  readonly io: Pick<Io, "cwd" | "ask">;
  readonly flags: TableFlags;
  readonly name?: string | undefined;
  /** Column that names the runs. Default: the column `id` or `name`. */
  readonly idColumn?: string | undefined;
  readonly pipeline: string;
  readonly profile?: string | undefined;
  readonly schema: Schema;
  readonly base: { readonly [field: string]: unknown };
}

export async function readRows(file: string, of: RowsOf): Promise<RowsFile> {
  const path = resolve(of.io.cwd, file);
  const kind = extname(path).toLowerCase();
  const text = await readTextFile(path, "--each", of.flags, of.io);
  if (kind === ".csv" || kind === ".tsv") return rowsOf(path, await tableRecords(text, of.flags), of);
  if (kind === ".jsonl" || kind === ".ndjson") return rowsOf(path, jsonRecords(text), of);
  throw usageError(
    `--each ${visible(file)} is not a .csv, .tsv or .jsonl file`,
    "use a file with one row per run: --each rows.csv",
  );
}

interface TableRow {
  readonly line: number;
  readonly cells: readonly Cell[];
}

type Records = {
  readonly headerLine: number | null;
  readonly records: readonly TableRow[];
  readonly mistakes: readonly RowMistake[];
};

async function tableRecords(text: string, flags: TableFlags): Promise<Records> {
  const table = await parseTable(text, flags);
  const fault = (line: number, message: string): Records => {
    return { headerLine: 1, records: [], mistakes: [{ line, column: null, message }] };
  };
  if (!table.ok) return fault(table.line, table.message);
  if (table.header === null) return fault(1, "has no header");
  const { line: headerLine, cells } = table.header;
  const { decimalComma } = table;
  const names = cells.map((name) => name.trim());
  const mistakes: RowMistake[] = names.flatMap((name, at) => {
    if (name === "") return [{ line: headerLine, column: `${at + 1}`, message: "has no name in the header" }];
    return names.indexOf(name) < at ? [{ line: headerLine, column: name, message: "occurs twice in the header" }] : [];
  });
  const isUsable = mistakes.length === 0;
  const records = table.rows.flatMap(({ line, cells: row }): readonly TableRow[] => {
    const message = `has ${counted(row.length, "cell")}, but the header has ${names.length}`;
    if (row.length !== names.length) mistakes.push({ line, column: null, message });
    if (!isUsable || row.length > names.length) return [];
    return [{ line, cells: row.map((value, at) => ({ column: names[at]!, text: value, decimalComma })) }];
  });
  return { headerLine, records, mistakes };
}

function jsonRecords(text: string): Records {
  const mistakes: RowMistake[] = [];
  const records = text.split("\n").flatMap((written, at): readonly TableRow[] => {
    if (written.trim() === "") return [];
    const line = at + 1;
    const parsed = parseJson(written, MOST_LEVELS);
    if ("mistake" in parsed) {
      const { column, message, isValid } = parsed.mistake;
      mistakes.push({ line, column: `${column}`, message: isValid ? message : `is not valid JSON: ${message}` });
      return [];
    }
    const { value } = parsed;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      mistakes.push({ line, column: null, message: "is not a JSON object" });
      return [];
    }
    return [{ line, cells: Object.entries(value).map(([column, json]) => ({ column, json })) }];
  });
  return { headerLine: null, records, mistakes };
}

type Columns = ReadonlyMap<string, Column | string>;

/** Finds the input field for each column of the records. Columns in `naming` need not match an input field. */
function columnsIn({ headerLine, records }: Records, schema: Schema, naming: readonly string[] = []) {
  const columns = new Map<string, Column | string>();
  const mistakes: RowMistake[] = [];
  for (const { line, cells } of records) {
    for (const { column } of cells) {
      if (columns.has(column)) continue;
      const field = columnOf(column, schema);
      const known = typeof field === "string" && naming.includes(column) ? noteColumn(column) : field;
      columns.set(column, known);
      if (typeof known === "string") mistakes.push({ line: headerLine ?? line, column, message: known });
    }
  }
  return { columns, mistakes };
}

function putCells({ line, cells }: TableRow, columns: Columns, target: Target): readonly RowMistake[] {
  return cells.flatMap((cell) => {
    const column = columns.get(cell.column)!;
    const message = typeof column === "string" ? null : column(cell, target);
    return message === null ? [] : [{ line, column: cell.column, message }];
  });
}

/** Reads a table as a list of objects, for a field whose value is such a list. */
export async function readItems(text: string, flags: TableFlags, schema: Schema) {
  const read = await tableRecords(text, flags);
  const { columns, mistakes: unknown } = columnsIn(read, schema);
  const mistakes = [...read.mistakes, ...unknown];
  const items = read.records.map((row) => {
    const input = {};
    mistakes.push(...putCells(row, columns, { input, tags: {}, notes: {} }));
    return input;
  });
  return { items, mistakes };
}

function rowsOf(path: string, read: Records, of: RowsOf): RowsFile {
  const { headerLine, records, mistakes } = read;
  const naming: readonly string[] = of.idColumn === undefined ? DEFAULT_ID_COLUMNS : [of.idColumn];
  const { columns, mistakes: unknown } = columnsIn(read, of.schema, naming);
  const wrong = [...mistakes, ...unknown];
  const titled = of.idColumn ?? naming.find((name) => columns.has(name));
  if (titled !== undefined && !columns.has(titled) && records.length > 0) {
    const known = [...columns.keys()].join(", ");
    wrong.push({
      line: headerLine ?? 1,
      column: titled,
      message: `does not exist; set --id-column to one of ${known}`,
    });
  }
  if (records.length === 0 && wrong.length === 0) wrong.push({ line: 1, column: null, message: "has no rows" });
  const isReadable = wrong.length === mistakes.length;
  const unreadable = new Set(mistakes.map(({ line }) => line));
  const stem = slugOf(of.name ?? basename(path, extname(path)));
  const rows = records.map((row): FileRow => {
    const { line, cells } = row;
    const input = structuredClone(of.base) as Target["input"];
    const tags: Target["tags"] = {};
    const notes: Target["notes"] = {};
    const own = putCells(row, columns, { input, tags, notes });
    wrong.push(...own);
    // Makes rows with mistakes unique, so that they are not reported as duplicates.
    const unique = own.length > 0 ? { line } : {};
    const content = { pipeline: of.pipeline, profile: of.profile ?? null, input, tags, notes, ...unique };
    const hash = createHash("sha256")
      .update(canonicalJson(content) ?? "")
      .digest("hex")
      .slice(0, 12);
    const title = titleOf(cells.find(({ column }) => column === titled));
    const otherIds = ["", ...cells.map(titleOf)].map((name) => rowId(stem, name, hash));
    return { line, id: rowId(stem, title, hash), otherIds, ...(title !== "" && { title }), input, tags };
  });
  return { mistakes: wrong, rows: isReadable ? rows.filter(({ line }) => !unreadable.has(line)) : [] };
}

const DEFAULT_ID_COLUMNS = ["id", "#id", "name", "#name"] as const;

function titleOf(cell: Cell | undefined): string {
  if (cell === undefined) return "";
  if ("text" in cell) return cell.text.trim();
  return typeof cell.json === "string" || typeof cell.json === "number" ? String(cell.json) : "";
}

function rowId(stem: string, title: string, hash: string): string {
  const slug = slugOf(title).slice(0, 40);
  return [stem.slice(0, slug === "" ? 80 : 40) || "row", slug, hash].filter((part) => part !== "").join("-");
}

function slugOf(text: string): string {
  const plain = text.normalize("NFKD").replace(/\p{M}+/gu, "");
  return plain.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "");
}

/** Sets each row's id to that of its existing run, which may be one of `otherIds`. Rows without a run keep their id. */
export function withKnownIds(rows: readonly FileRow[], runs: readonly Pick<RunRow, "runId">[]): readonly FileRow[] {
  const known = new Set(runs.map(({ runId }) => runId));
  return rows.map((row) => {
    return { ...row, id: [row.id, ...row.otherIds].find((id) => known.has(id)) ?? row.id };
  });
}
