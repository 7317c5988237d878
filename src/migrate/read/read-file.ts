import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { createInterface } from "node:readline";
import { buffer } from "node:stream/consumers";
import { z } from "zod";
import { ShowrunnerError } from "../../core/kit/errors.ts";
import { parseJson } from "../../core/kit/json-text.ts";
import { readLines, readText } from "./read-text.ts";
import { type ReadBodies, type ReadProblem, readProblem, unreadable } from "./source.ts";

/** The file with v2 bodies is missing or cannot be read. */
export class V2FileError extends ShowrunnerError {
  readonly code = "V2_FILE";
}

interface ReadFileOptions {
  /** Maximum size of a JSON document, in bytes. Does not apply to JSON Lines. Default: 32 MiB. */
  readonly maxBytes?: number;
  /** Maximum length of a line in JSON Lines, in bytes. Default: 4 MiB. */
  readonly maxLineBytes?: number;
  /** Maximum number of lines to read. Lines beyond it are only counted. Default: 20,000. */
  readonly maxLines?: number;
}

const MIB = 1024 * 1024;

/**
 * Reads v2 bodies from a file, and lists problems with their content in `problems`. @throws V2FileError if the file
 * cannot be read
 */
export async function readV2File(path: string, options: ReadFileOptions = {}): Promise<ReadBodies> {
  const { maxBytes = 32 * MIB, maxLineBytes = 4 * MIB, maxLines = 20_000 } = options;
  try {
    const found = await stat(path);
    if (!found.isFile()) throw new V2FileError(`${path} is not a file; pass a file of v2 request bodies`);
    if (found.size > maxBytes) {
      const head = await buffer(createReadStream(path, { end: maxLineBytes - 1 }));
      if (isLine(head)) return await readLongLines(path, { maxLineBytes, maxLines });
      const message =
        `is ${found.size} bytes; a JSON document can be at most ${maxBytes}. Split it, ` +
        "or write it as JSON Lines, one body per line";
      return unreadable("too-large", message);
    }
    const bytes = await readFile(path);
    if (bytes[0] === 0xff && bytes[1] === 0xfe) return readText(bytes.toString("utf16le"));
    if (!isUtf8(bytes)) {
      return unreadable("not-json", "is not UTF-8 text, so it is not JSON", { line: badLine(bytes), column: 1 });
    }
    return readText(bytes.toString("utf8"));
  } catch (cause) {
    if (cause instanceof V2FileError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code;
    const reason = code === "ENOENT" ? "does not exist" : `cannot be read (${code ?? String(cause)})`;
    throw new V2FileError(`${path} ${reason}; pass a file of v2 request bodies`, { cause });
  }
}

function isLine(head: Buffer): boolean {
  const line = head
    .toString("utf8")
    .replace(/^\uFEFF/, "")
    .split("\n")
    .find((one) => one.trim() !== "");
  return line !== undefined && /^\s*\{.*\}\s*$/.test(line) && "value" in parseJson(line);
}

async function readLongLines(
  path: string,
  { maxLineBytes, maxLines }: Required<Omit<ReadFileOptions, "maxBytes">>,
): Promise<ReadBodies> {
  const lines: string[] = [];
  const problems: ReadProblem[] = [];
  const refuse = (code: string, line: number, message: string) =>
    problems.push({ ...readProblem(code, `line ${line}`, null, message), line, column: 1 });
  let count = 0;
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    count++;
    if (count > maxLines) continue;
    const isTooLong = line.length > maxLineBytes;
    lines.push(isTooLong ? "" : line);
    if (isTooLong && problems.length < 100)
      refuse("too-large", count, `is longer than ${maxLineBytes} bytes; no v2 body is that long`);
  }
  if (count > maxLines) {
    const message = `this line and all later lines (${count - maxLines} in total) were not read; split the file`;
    refuse("too-many-bodies", maxLines + 1, message);
  }
  const read = readLines(lines);
  return { ...read, problems: [...read.problems, ...problems] };
}

function badLine(bytes: Buffer): number {
  let from = 0;
  for (let line = 1; ; line++) {
    const end = bytes.indexOf(10, from);
    const piece = bytes.subarray(from, end < 0 ? undefined : end);
    if (!isUtf8(piece) || end < 0) return line;
    from = end + 1;
  }
}

/** Decisions that a user made about v2 work, stored so that no question is asked twice. */
export interface MigrationDecisions {
  /** Maps v2 model slugs to v3 model ids, and v2 voice ids to v3 voice ids. */
  readonly map: { readonly [v2: string]: string };
  /** Keys of the media, prompts, shots and voices that the user agreed to leave out. */
  readonly leaveOut: readonly string[];
}

/** The decisions file cannot be parsed. The message says where the mistake is. */
export class DecisionsFileError extends ShowrunnerError {
  readonly code = "MIGRATE_DECISIONS";
}

const MOST_ENTRIES = 100_000;

const schema = z.strictObject({
  version: z.literal(1),
  map: z.record(z.string().min(1), z.string().min(1)).default({}),
  leave_out: z.array(z.string().min(1)).max(MOST_ENTRIES).default([]),
});

/** Parses a decisions file. `path` appears only in messages. @throws DecisionsFileError */
export function parseDecisions(text: string, path: string): MigrationDecisions {
  const read = parseJson(text);
  if ("mistake" in read) {
    const { line, column, message } = read.mistake;
    throw new DecisionsFileError(`${path} is not valid JSON at line ${line}, column ${column}: ${message}`);
  }
  const parsed = schema.safeParse(read.value);
  if (parsed.success) return { map: parsed.data.map, leaveOut: parsed.data.leave_out };
  const issues = parsed.error.issues.map(({ path: at, message }) => `${at.join(".") || "the document"}: ${message}`);
  throw new DecisionsFileError(`${path}: ${issues.join("; ")}`);
}

/** Formats decisions as the text of a decisions file, in a fixed order. */
export function formatDecisions({ map, leaveOut }: MigrationDecisions): string {
  const sorted = Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
  return `${JSON.stringify({ version: 1, map: sorted, leave_out: [...new Set(leaveOut)].sort() }, null, 2)}\n`;
}
