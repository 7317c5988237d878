import { CliError, usageError } from "../cli-error.ts";
import { confirm, type Io } from "../io.ts";
import type { TableFlags } from "../program/flags.ts";
import { visible, visibleError } from "../text/escape.ts";
import { readNamed } from "./named-file.ts";

/** A row of a table. `line` is the number of the row's first line in the file. */
export interface TableRecord {
  readonly line: number;
  readonly cells: readonly string[];
}

export type Table =
  | {
      readonly ok: true;
      readonly header: TableRecord | null;
      readonly rows: readonly TableRecord[];
      /** Whether `1,5` is read as a number. True if semicolons separate the cells. */
      readonly decimalComma: boolean;
    }
  | { readonly ok: false; readonly line: number; readonly message: string };

const DELIMITERS = [",", ";", "\t"] as const;

/** Reads a text file. Asks the user to confirm Windows-1252 if the encoding is uncertain. */
export async function readTextFile(
  path: string,
  flag: string,
  flags: TableFlags | null,
  io: Pick<Io, "ask">,
): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = await readNamed(path);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "does not exist" : `cannot be read${code === undefined ? `: ${message}` : ""}`;
    throw new CliError("INPUT_INVALID", `${visible(path)} ${why}`, { next: `check the path after ${flag}`, cause });
  }
  const encoding = flags?.encoding ?? unmistakable(bytes) ?? (flags === null ? "utf-8" : null);
  if (encoding !== null) return decoded(bytes, encoding, path, flags);
  const text = decoded(bytes, "windows-1252", path, null);
  const at = text.split("\n").findIndex((line) => /[^\0-\x7F]/.test(line));
  const line = visible(text.split("\n")[at]!.trim().slice(0, 80));
  const what = `${visible(path)} is not UTF-8. Read as Windows-1252, line ${at + 1} is: ${line}`;
  await confirm(io, {
    what,
    question: `${what}\nIs that correct?`,
    refused: `${visible(path)} was not read`,
    next: "set the file's encoding with --encoding, such as windows-1252, utf-16le, iso-8859-2, macintosh or shift_jis",
  });
  return text;
}

function unmistakable(bytes: Buffer): string | null {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  const head = bytes.subarray(0, 4096);
  const zeros = (from: number) => head.filter((byte, at) => at % 2 === from && byte === 0).length;
  const [even, odd] = [zeros(0), zeros(1)];
  // In UTF-16, every Latin letter has a zero byte.
  if (odd > head.length / 4 && even === 0) return "utf-16le";
  if (even > head.length / 4 && odd === 0) return "utf-16be";
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return "utf-8";
  } catch {
    return null;
  }
}

function decoded(bytes: Buffer, encoding: string, path: string, flags: TableFlags | null): string {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (cause) {
    if (cause instanceof RangeError)
      throw usageError(
        `--encoding ${visible(encoding)} is not a known encoding`,
        "for example --encoding windows-1252",
        cause,
      );
    throw new CliError("INPUT_INVALID", `${visible(path)} is not valid ${visible(encoding)}`, {
      next: flags?.encoding === undefined ? "save it as UTF-8" : "omit --encoding, or set another encoding",
      cause,
    });
  }
}

/** Parses a table. Drops empty rows and trailing empty cells. */
export async function parseTable(text: string, { delimiter: given }: TableFlags): Promise<Table> {
  const { parse } = await import("csv-parse/sync");
  const delimiter = given === undefined ? delimiterOf(text) : delimiterNamed(given);
  const written = text.replace(/^\uFEFF/, "");
  try {
    const records: readonly { readonly record: readonly string[]; readonly info: { readonly bytes: number } }[] = parse(
      written,
      { delimiter, info: true, relax_column_count: true, skip_empty_lines: true },
    ) as never;
    const bytes = Buffer.from(written);
    let [from, line] = [0, 1];
    const [first, ...rest] = records.map(({ record, info }): TableRecord => {
      const raw = bytes.toString("utf8", from, info.bytes);
      const begun = line + breaksIn(/^[\r\n]*/.exec(raw)![0]);
      [from, line] = [info.bytes, line + breaksIn(raw)];
      return { line: begun, cells: record };
    });
    const widest = rest.reduce((most, row) => Math.max(most, filledWidth(row)), 0);
    const header = first === undefined ? null : withoutTail(first, widest);
    const rows = rest.filter((row) => filledWidth(row) > 0).map((row) => withoutTail(row, header?.cells.length ?? 0));
    return { ok: true, header, rows, decimalComma: delimiter === ";" };
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "CSV_QUOTE_NOT_CLOSED")
      return { ok: false, line: (error as { readonly lines?: number }).lines ?? 1, message: visibleError(error) };
    const quotes = [...written.matchAll(/"(?:[^"]|"")*(?:"|$)/g)];
    const open = quotes.at(-1)?.index ?? 0;
    return {
      ok: false,
      line: 1 + breaksIn(written.slice(0, open)),
      message: "this line opens a quote that is never closed",
    };
  }
}

function filledWidth({ cells }: TableRecord): number {
  return 1 + cells.findLastIndex((cell) => cell.trim() !== "");
}

function withoutTail(record: TableRecord, width: number): TableRecord {
  return { ...record, cells: record.cells.slice(0, Math.max(width, filledWidth(record))) };
}

function breaksIn(text: string): number {
  return (text.match(/\r\n|\n|\r/g) ?? []).length;
}

function delimiterNamed(given: string): string {
  const delimiter = given === "tab" || given === "\\t" ? "\t" : given;
  if ([...delimiter].length === 1 && !/["\r\n]/.test(delimiter)) return delimiter;
  throw usageError(
    `--delimiter ${visible(given)} is not a single character`,
    "for example --delimiter ';' or --delimiter tab",
  );
}

function delimiterOf(text: string): string {
  // Ignores quoted cells. This also works for cells that contain quotes, because quotes are doubled in the file.
  const first = text.replace(/"[^"]*"/g, "").split(/\r?\n|\r/, 1)[0]!;
  const counts = DELIMITERS.map((one) => first.split(one).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))]!;
}
