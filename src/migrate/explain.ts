import { suggest } from "../plan/suggest.ts";
import { type EntryDetails, valueAt } from "./field-report.ts";
import { isRecord, type JsonPath } from "./json-path.ts";
import type { Outcome } from "./report/report.ts";
import type { Field, Fields } from "./v2/shape.ts";
import { ANSWER_FIELDS, fieldsOf, type V2Type } from "./v2/types.ts";

/** Why fields common to all bodies are not migrated. */
const WHY: Readonly<Record<string, string>> = {
  type: "in v3 the model says what is made",
  workspace_id: "a v3 key belongs to one workspace",
  agent_thread_id: "v3 has no threads",
  name: "the step is named already",
};

/** Fields that name a body or its output. */
const OWN_IDS = new Set([
  "generation_id",
  "generation_ids",
  "reserved_asset_id",
  "reserved_asset_ids",
  "id",
  "asset_id",
  "batch_results",
]);

/** Maximum number of locations named. */
const MOST_USES = 3;

type Uses = ReadonlyMap<string, readonly string[]>;

/** The explanation for a field that no converter used. `uses` tells where ids are used. */
export function explain(
  body: { readonly [key: string]: unknown },
  type: V2Type | null,
  uses: Uses,
): (path: JsonPath) => readonly [Outcome, EntryDetails] {
  return (path) => ["dropped", { why: whyDropped(body, type, path, uses) }];
}

function whyDropped(
  body: { readonly [key: string]: unknown },
  type: V2Type | null,
  path: JsonPath,
  uses: Uses,
): string {
  const name = [...path].reverse().find((part) => typeof part === "string") ?? "";
  const fields = type === null ? {} : fieldsAround(fieldsOf(type), path);
  const isTop = path.length === 1 || (path.length === 2 && typeof path[1] === "number");
  if (isTop && OWN_IDS.has(name)) return whyId(valueAt(body, path), uses);
  if (isTop && Object.hasOwn(WHY, name)) return WHY[name] ?? "";
  if (isTop && Object.hasOwn(ANSWER_FIELDS, name)) return "what v2 answered, no part of the request";
  const known = Object.hasOwn(fields, name);
  const value = valueAt(body, path);
  if (known && value === null) return "null counts as not given";
  if (known && Array.isArray(value) && value.length === 0) return "an empty list asks for nothing";
  if (known && isRecord(value) && Object.keys(value).length === 0) return "an empty object asks for nothing";
  if (known && OWN_IDS.has(name)) return whyId(value, uses);
  if (known) return WHY[name] ?? "the model has no use for it here";
  if (path[0] === "audio_generation" && OWN_IDS.has(name)) return whyId(valueAt(body, path), uses);
  if (path[0] === "audio_generation" && Object.hasOwn(WHY, name)) return WHY[name] ?? "";
  const near = suggest(name, Object.keys(fields))[0];
  const hint = near === undefined ? "" : `; did you mean ${near}?`;
  return type === null ? "no part of an upload in v3" : `v2 knows no such field of ${type}${hint}`;
}

/** v3 issues its own ids; v2's are replaced by edges. */
function whyId(value: unknown, uses: Uses): string {
  const users = [...new Set(textsIn(value).flatMap((id) => uses.get(id) ?? []))];
  if (users.length === 0) return "v3 issues its own ids, and nothing else in this document uses this one";
  const more = users.length > MOST_USES ? ` and ${users.length - MOST_USES} more` : "";
  return `v3 issues its own ids; an edge leads from here to ${users.slice(0, MOST_USES).join(", ")}${more}`;
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** The sibling fields of a path. */
function fieldsAround(fields: Fields, path: JsonPath): Fields {
  let at: Fields = fields;
  const names = path.filter((part) => typeof part === "string");
  for (const name of names.slice(0, -1)) {
    const field: Field | undefined = Object.hasOwn(at, name) ? at[name] : undefined;
    const shape = field?.shape.is === "list" ? field.shape.item : field?.shape;
    if (shape?.is !== "record") return {};
    at = shape.fields;
  }
  return at;
}
