import { z } from "zod";
import { ShowrunnerError } from "../errors.ts";
import type { BodyReport, FieldEntry } from "./report/report.ts";

/**
 * A question that a person can answer interactively; the answer is stored in `map` under the key, or the key in
 * `leaveOut`.
 */
export interface Question {
  /** v2 slug or id; of a loss, its `lossKey`. */
  readonly key: string;
  readonly about: "model" | "voice" | "loss";
  readonly question: string;
  /** v3 ids; the one currently used comes first, if any. */
  readonly choices: readonly string[];
}

const MODEL = /(?:^|\.)(?:model_slug|ai_model_id|model_id)$/;
const VOICE = /(?:^|\.)voice_id$/;

/** Each open model, voice and loss once, however many bodies share it. */
export function questionsOf(bodies: readonly BodyReport[]): readonly Question[] {
  const found = new Map<string, Question>();
  for (const { fields, status } of bodies) {
    if (status !== "migrated") continue;
    for (const entry of fields) {
      const { field, given, outcome, value, why, choices } = entry;
      if (entry.isLost) {
        const key = lossKey(entry);
        found.set(key, { key, about: "loss", question: `${field} arrives nowhere: ${why}`, choices: [] });
        continue;
      }
      const about = MODEL.test(field) ? "model" : VOICE.test(field) ? "voice" : null;
      if (outcome !== "decision" || !given || about === null || typeof value !== "string" || found.has(value)) continue;
      const offered = about === "voice" ? choices.slice(1) : choices;
      const ids = offered.map((choice) => choice.replace(/ \(.*\)$/, ""));
      found.set(value, { key: value, about, question: `${value}: ${why}`, choices: ids });
    }
  }
  return [...found.values()];
}

/** A person's decisions about v2 work, stored so that no question is asked twice. */
export interface MigrationDecisions {
  /** v2 model slugs to v3 model ids, and v2 voice ids to v3 ones. */
  readonly map: { readonly [v2: string]: string };
  /** Accepted losses: fields with the reason, as {@link lossKey} writes them. */
  readonly leaveOut: readonly string[];
}

/** The decisions file is unreadable or invalid; the message names the field. */
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

/** Deterministic: equal decisions give equal bytes. */
export function formatDecisions({ map, leaveOut }: MigrationDecisions): string {
  const sorted = Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
  return `${JSON.stringify({ version: 1, map: sorted, leave_out: [...new Set(leaveOut)].sort() }, null, 2)}\n`;
}

/** Identifies a loss, however many list items or bodies share it. */
export function lossKey({ field, why }: Pick<FieldEntry, "field" | "why">): string {
  return `${field.replace(/\[\d+\]/g, "[]")}: ${why ?? ""}`;
}
