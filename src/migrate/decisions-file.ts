import { z } from "zod";
import { ShowrunnerError } from "../errors.ts";
import type { FieldEntry } from "./report/report.ts";

/** What a person has decided about v2 work, so that the next document is not asked for it again. */
export interface MigrationDecisions {
  /** v2 model slugs to v3 model ids, and v2 voice ids to v3 ones. */
  readonly map: { readonly [v2: string]: string };
  /** What may be left out: fields with the reason, as {@link lossKey} writes them. */
  readonly leaveOut: readonly string[];
}

/** The file of decisions is none, or has a mistake; the message names the field. */
export class DecisionsFileError extends ShowrunnerError {
  readonly code = "MIGRATE_DECISIONS";
}

const MOST_ENTRIES = 100_000;

const schema = z.strictObject({
  version: z.literal(1),
  map: z.record(z.string().min(1), z.string().min(1)).default({}),
  leave_out: z.array(z.string().min(1)).max(MOST_ENTRIES).default([]),
});

export function parseDecisions(text: string, path: string): MigrationDecisions {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new DecisionsFileError(`${path} is no JSON: ${(cause as Error).message}`, { cause });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return { map: parsed.data.map, leaveOut: parsed.data.leave_out };
  const issues = parsed.error.issues.map(({ path: at, message }) => `${at.join(".") || "the document"}: ${message}`);
  throw new DecisionsFileError(`${path}: ${issues.join("; ")}`);
}

/** The same decisions give the same bytes. */
export function formatDecisions({ map, leaveOut }: MigrationDecisions): string {
  const sorted = Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
  return `${JSON.stringify({ version: 1, map: sorted, leave_out: [...new Set(leaveOut)].sort() }, null, 2)}\n`;
}

/** Names a loss, however many fields of a list or bodies of a document have it. */
export function lossKey({ field, why }: Pick<FieldEntry, "field" | "why">): string {
  return `${field.replace(/\[\d+\]/g, "[]")}: ${why ?? ""}`;
}
