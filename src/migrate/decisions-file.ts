import { z } from "zod";
import { ShowrunnerError } from "../core/kit/errors.ts";
import { parseJson } from "../core/kit/json-text.ts";

/** Decisions that a user made about v2 work, stored so that no question is asked twice. */
export interface MigrationDecisions {
  /** Maps v2 model slugs to v3 model ids, and v2 voice ids to v3 voice ids. */
  readonly map: { readonly [v2: string]: string };
  /** Accepted losses, each as the `answer.key` of its decision. */
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
