import type { Catalog, CatalogModel, JsonSchema } from "../plan/index.ts";
import {
  type AcceptedMedia,
  applicable,
  isSchema,
  maxOutputsOf,
  propertySchemas,
  schemaLocation,
  suggestedValues,
  yieldsOf,
} from "../plan/schema.ts";
import { type Combination, combinationTable } from "./combination-table.ts";

export interface CatalogChange {
  readonly model: string;
  readonly field: string | null;
  /** True if an input that was valid may now be rejected or have a different effect. */
  readonly isBreaking: boolean;
  readonly message: string;
}

type Say = (field: string | null, isBreaking: boolean, message: string) => void;

export function diffCatalogs(before: Catalog, after: Catalog): readonly CatalogChange[] {
  const ids = [...new Set([...before.models(), ...after.models()].map(({ id }) => id))].sort();
  return ids.flatMap((id) => {
    const changes: CatalogChange[] = [];
    const say: Say = (field, isBreaking, message) => changes.push({ model: id, field, isBreaking, message });
    compareModels(before.model(id), after.model(id), say);
    return changes;
  });
}

function compareModels(before: CatalogModel | null, after: CatalogModel | null, say: Say): void {
  if (before === null) return say(null, false, "is new");
  if (after === null) return say(null, before.state === "live", "is no longer listed");
  if (before.state !== after.state) {
    const successor = after.replacedBy === undefined ? "" : `; use ${after.replacedBy}`;
    say(null, after.state !== "live", `changed from ${before.state} to ${after.state}${successor}`);
  }
  if (after.state !== "live") return;
  const [created, makes] = [yieldsOf(before), yieldsOf(after)];
  if (created !== makes)
    say(null, true, `its output changed from ${created ?? "an unknown kind"} to ${makes ?? "an unknown kind"}`);
  const [had, has] = [maxOutputsOf(before) ?? Infinity, maxOutputsOf(after) ?? Infinity];
  if (had !== has) say("num_outputs", has < had, `the maximum number of outputs changed from ${had} to ${has}`);
  if (before.priceDescription !== after.priceDescription) {
    say(null, false, `its price changed from "${before.priceDescription ?? ""}" to "${after.priceDescription ?? ""}"`);
  }
  compareTables(before.inputSchema, after.inputSchema, say);
  compareFields(before.inputSchema, after.inputSchema, say);
}

function compareTables(before: JsonSchema, after: JsonSchema, say: Say): void {
  const [had, has] = [before, after].map((schema) => combinationTable(schema)?.rows.map(rowWords) ?? []);
  const gone = had!.filter((row) => !has!.includes(row));
  const added = has!.filter((row) => !had!.includes(row));
  for (const row of gone) say(null, has!.length > 0, `no longer accepts the combination: ${row}`);
  for (const row of added) say(null, had!.length === 0, `accepts the combination: ${row}`);
}

/** Returns a combination's text without its row number, which changes when rows are inserted. */
const rowWords = ({ text }: Combination) => text.replace(/^\(\d+\) */, "");

function compareFields(before: JsonSchema, after: JsonSchema, say: Say): void {
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  for (const [name, field] of was) {
    const now = is.get(name);
    if (now === undefined) say(name, true, "was removed");
    else compareField(name, field, now, say);
  }
  for (const [name, { isRequired }] of is) {
    if (!was.has(name)) say(name, isRequired, isRequired ? "is new and required" : "is new");
  }
}

interface Field {
  readonly isRequired: boolean;
  readonly takes: string;
  readonly preset: string | null;
  readonly values: readonly string[] | null;
  readonly parts: readonly JsonSchema[];
}

function fieldsOf(schema: JsonSchema): ReadonlyMap<string, Field> {
  const parts = applicable(schema, schema);
  const names = parts.flatMap(({ properties }) => (isSchema(properties) ? Object.keys(properties) : []));
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const location = schemaLocation(schema);
  return new Map(
    [...new Set(names)].map((name) => {
      const [first] = propertySchemas(parts, name);
      const schemas = first === undefined ? [] : applicable(schema, first);
      const values = schemas.find((part) => Array.isArray(part.enum))?.enum;
      const preset = schemas.find((part) => part.default !== undefined)?.default;
      const field: Field = {
        isRequired: required.has(name),
        takes: takesText(location.property(name)?.takes),
        preset: preset === undefined ? null : JSON.stringify(preset),
        values:
          Array.isArray(values) && schemas.every((part) => suggestedValues(part) === null)
            ? values.map((value) => JSON.stringify(value))
            : null,
        parts: schemas,
      };
      return [name, field];
    }),
  );
}

function takesText(takes: AcceptedMedia | undefined): string {
  if (takes === undefined) return "anything";
  if (takes.what === "media") return takes.kinds.join(" or ") || "media";
  return takes.what === "voice" ? "a voice" : takes.types.join(" or ") || "anything";
}

/** The keywords that limit values, and whether a larger limit accepts more values. */
const BOUNDS: readonly (readonly [keyword: string, largerIsWider: boolean])[] = [
  ["minimum", false],
  ["maximum", true],
  ["minLength", false],
  ["maxLength", true],
  ["minItems", false],
  ["maxItems", true],
  ["max_file_size_bytes", true],
];

function compareField(name: string, was: Field, is: Field, say: Say): void {
  if (was.takes !== is.takes) say(name, true, `type changed from ${was.takes} to ${is.takes}`);
  if (was.isRequired !== is.isRequired) say(name, is.isRequired, is.isRequired ? "is now required" : "is now optional");
  if (was.preset !== is.preset)
    say(name, true, `default changed from ${was.preset ?? "none"} to ${is.preset ?? "none"}`);
  const missing = (was.values ?? []).filter((value) => is.values !== null && !is.values.includes(value));
  const fresh = (is.values ?? []).filter((value) => was.values !== null && !was.values.includes(value));
  if (missing.length > 0) say(name, true, `no longer accepts ${missing.join(", ")}`);
  if (fresh.length > 0) say(name, false, `also accepts ${fresh.join(", ")}`);
  if (was.values === null && is.values !== null) say(name, true, `accepts only ${is.values.join(", ")}`);
  for (const [keyword, largerIsWider] of BOUNDS) {
    const [old, now] = [boundOf(was, keyword, largerIsWider), boundOf(is, keyword, largerIsWider)];
    if (old !== now) say(name, largerIsWider ? now < old : now > old, `${keyword} was ${old}, is ${now}`);
  }
}

function boundOf({ parts }: Field, keyword: string, largerIsWider: boolean): number {
  const value = parts.find((part) => typeof part[keyword] === "number")?.[keyword];
  return typeof value === "number" ? value : largerIsWider ? Infinity : -Infinity;
}
