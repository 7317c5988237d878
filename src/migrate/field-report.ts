import { withoutSecrets } from "../core/kit/clean-text.ts";
import type { Json } from "../core/plan/plan.ts";
import { isRecord, type JsonPath, pathText } from "./read/source.ts";
import type { FieldEntry, Outcome } from "./report/report.ts";

const WORK = new RegExp(
  `(?:^|\\.)(?:${[
    "(?:text_|negative_)?prompt",
    "text",
    "multi_prompt",
    "voice_id",
    "(?:audio|video|image)_id",
    "audio_generation",
    "(?:start|end)_keyframe_(?:id|url)",
    "reference_(?:image|audio|video)_ids",
    "reference_image_asset_ids",
    "frontal_image_asset_id",
    "elements",
  ].join("|")})(?:\\[\\d+\\])?$`,
);

export function isWork(field: string, value: Json): boolean {
  return WORK.test(field) && !isEmpty(value);
}

export interface EntryDetails {
  readonly to?: string;
  readonly newValue?: Json;
  readonly why?: string;
  readonly choices?: readonly string[];
  readonly isUnusedByV2?: true;
}

/** Records the outcome of each field of a body. `close` adds the fields that have no outcome yet, and removes secrets. */
export class FieldReport {
  readonly #body: unknown;
  readonly #entries = new Map<string, FieldEntry>();
  readonly #prefixes = new Set<string>();

  constructor(body: unknown) {
    this.#body = body;
  }

  note(path: JsonPath, outcome: Outcome, details: EntryDetails = {}): void {
    const field = pathText(path);
    if (this.#entries.has(field) || this.#prefixes.has(field)) {
      throw new Error(`bug: ${field} has two entries`);
    }
    for (let length = 1; length < path.length; length++) {
      const around = pathText(path.slice(0, length));
      if (this.#entries.has(around))
        throw new Error(`bug: ${field} must not have an entry of its own, because ${around} already has one`);
      this.#prefixes.add(around);
    }
    this.#entries.set(field, entry(field, true, valueAt(this.#body, path) as Json, outcome, details));
  }

  /** Records the outcome of a required v3 field for which the body has no usable value. */
  add(field: string, outcome: "defaulted" | "decision", details: EntryDetails): void {
    const known = this.#entries.get(field);
    const value = valueAt(this.#body, field.split("."));
    if (known === undefined) {
      const given = value !== undefined;
      if (given) this.note(field.split("."), outcome, details);
      else this.#entries.set(field, entry(field, false, null, outcome, details));
    } else if (known.outcome !== "carried" && known.outcome !== "renamed" && known.to === null) {
      const why = [known.why, details.why].filter((one) => one != null).join("; ");
      const choices = known.choices.length > 0 ? known.choices : (details.choices ?? []);
      const kept = known.outcome === "dropped" ? outcome : known.outcome;
      this.#entries.set(field, entry(field, known.given, known.value, kept, { ...details, why, choices }));
    }
  }

  amend(path: JsonPath, outcome: Outcome | null, details: EntryDetails): void {
    const known = this.#entries.get(pathText(path));
    if (known === undefined) return;
    const isOpen = outcome === null && known.outcome === "decision";
    const why = [...(isOpen ? [known.why] : []), details.why].filter((one) => one != null).join("; ");
    const kept = isOpen ? { why, choices: known.choices } : {};
    const next = outcome ?? known.outcome;
    this.#entries.set(known.field, entry(known.field, known.given, known.value, next, { ...details, ...kept }));
  }

  /**
   * Marks the fields under a path as needing a decision, because their values cannot be migrated. Removes the entries
   * of fields that the body lacks.
   */
  revoke(path: JsonPath, details: EntryDetails): void {
    const below = `${pathText(path)}.`;
    for (const [field, known] of this.#entries) {
      if (!field.startsWith(below) || known.outcome === "dropped") continue;
      if (known.given) this.#entries.set(field, entry(field, true, known.value, "decision", details));
      else this.#entries.delete(field);
    }
  }

  has(path: JsonPath): boolean {
    const field = pathText(path);
    return this.#entries.has(field) || this.#prefixes.has(field);
  }

  close(explain: (path: JsonPath) => readonly [Outcome, EntryDetails]): readonly FieldEntry[] {
    this.#sweep(this.#body, [], explain);
    return [...this.#entries.values()].map(cleaned);
  }

  #sweep(value: unknown, path: JsonPath, explain: (path: JsonPath) => readonly [Outcome, EntryDetails]): void {
    const field = pathText(path);
    if (this.#entries.has(field)) return;
    if (path.length > 0 && !this.#prefixes.has(field)) return this.note(path, ...explain(path));
    if (Array.isArray(value)) {
      value.forEach((item, index) => void this.#sweep(item, [...path, index], explain));
    } else if (isRecord(value)) {
      for (const [key, item] of Object.entries(value)) this.#sweep(item, [...path, key], explain);
    }
  }
}

function entry(field: string, given: boolean, value: Json, outcome: Outcome, details: EntryDetails): FieldEntry {
  const { to = null, newValue, why = null, choices = [], isUnusedByV2 = false } = details;
  const isLeftOut = given && to === null && (outcome === "dropped" || outcome === "decision");
  const isLost = isLeftOut && !isUnusedByV2 && isWork(field, value);
  const changed = newValue === undefined ? null : newValue;
  return { field, given, outcome, value, to, newValue: changed, why, choices, ...(isLost && { isLost }) };
}

function cleaned(entry: FieldEntry): FieldEntry {
  return {
    ...entry,
    value: withoutSecrets(entry.value) as Json,
    newValue: withoutSecrets(entry.newValue) as Json,
    why: withoutSecrets(entry.why) as string | null,
  };
}

function isEmpty(value: Json): boolean {
  if (typeof value === "string") return value.trim() === "";
  return value === null || (typeof value === "object" && Object.values(value).every(isEmpty));
}

export function valueAt(value: unknown, path: JsonPath): unknown {
  let at = value;
  for (const part of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as { readonly [key: string | number]: unknown })[part];
  }
  return at;
}
