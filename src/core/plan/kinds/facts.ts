import { didYouMean } from "../../kit/suggest.ts";
import type { JsonSchema } from "../catalog-port.ts";
import type { DraftReference } from "../draft.ts";
import type { FileKind, Json, Reference, Yield } from "../plan.ts";
import { applicable, isSchema, itemSchemas, propertySchemas } from "../schema/schema.ts";

/** `missing` is the first key of the path that the schema rules out. */
export interface FoundSchema {
  readonly schema: Json | null;
  /** Allowed JSON types. An empty list allows all types. */
  readonly types: readonly string[];
  readonly missing: { readonly key: string | number; readonly allowed: readonly string[] } | null;
}

const NOTHING: FoundSchema = { schema: null, types: [], missing: null };

export function schemaAt(schema: Json | null, at: readonly (string | number)[]): FoundSchema {
  const wrong = at.find(isNoPosition);
  if (wrong !== undefined) return { ...NOTHING, missing: { key: wrong, allowed: [] } };
  if (!isSchema(schema)) return NOTHING;
  const root: JsonSchema = schema;
  let parts = applicable(root, root);
  for (const key of at) {
    const next = typeof key === "number" ? itemSchemas(parts, key) : propertySchemas(parts, key);
    if (next.length === 0)
      return isClosed(parts, key) ? { ...NOTHING, missing: { key, allowed: names(parts) } } : NOTHING;
    parts = [...new Set(next.flatMap((part) => applicable(root, part)))];
  }
  // The part keeps the definitions of the whole schema, because it may refer to them.
  const [first] = parts;
  const definitions = isSchema(root.$defs) ? { $defs: root.$defs } : {};
  return { schema: { ...definitions, ...first } as unknown as Json, types: typesOf(parts), missing: null };
}

/** Returns whether no value can have this key. */
function isClosed(parts: readonly JsonSchema[], key: string | number): boolean {
  const types = typesOf(parts);
  if (types.length > 0 && !types.includes(typeof key === "number" ? "array" : "object")) return true;
  if (typeof key === "number")
    return parts.some(({ prefixItems, items }) => prefixItems !== undefined && items === false);
  const objects = parts.filter(({ properties }) => isSchema(properties));
  return objects.length > 0 && objects.every(({ additionalProperties }) => additionalProperties === false);
}

function isNoPosition(key: string | number): boolean {
  return typeof key === "number" && !(Number.isSafeInteger(key) && key >= 0);
}

function names(parts: readonly JsonSchema[]): readonly string[] {
  return [...new Set(parts.flatMap(({ properties }) => (isSchema(properties) ? Object.keys(properties) : [])))];
}

function typesOf(parts: readonly JsonSchema[]): readonly string[] {
  const named = parts.flatMap(({ type, enum: values, const: constant }) => {
    if (type !== undefined) return [type].flat();
    return [...(Array.isArray(values) ? values : []), ...(constant === undefined ? [] : [constant])].map(typeName);
  });
  return [...new Set(named.filter((type) => typeof type === "string"))];
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

type DraftRef = DraftReference["$ref"];
type Report = (code: string, message: string, more?: { readonly allowed?: readonly string[] }) => void;

export function isValueRef(ref: DraftRef, source: StepFacts): boolean {
  return ref.output === "value" || source.yields === "value";
}

export function completeRef(ref: DraftRef, source: StepFacts, report: Report): Reference["$ref"] {
  const { step } = ref;
  if (isValueRef(ref, source)) return completeValueRef(ref, source, report);
  const output = resolveIndex(ref, source, report);
  const { as, yields, kinds } = source;
  const outcome = kinds === undefined || typeof output !== "number" ? yields : (kinds[output] ?? null);
  const isFile = outcome === "image" || outcome === "video" || outcome === "audio" || outcome === "text";
  const picked = source.picks === true ? "chosen" : output;
  return { step, as, output: picked, ...(isFile && { kind: outcome }) };
}

function completeValueRef(ref: DraftRef, source: StepFacts, report: Report): Reference["$ref"] {
  const { step, at } = ref;
  const output = ref.output === "all" || typeof ref.output === "number" ? ref.output : 0;
  if (!source.hasValue)
    report("not-a-value", `${step} makes media, not a value; use its handle in a field that accepts media`);
  const { missing } = schemaAt(source.schema, at ?? []);
  if (missing !== null) {
    const { key, allowed } = missing;
    const hint = didYouMean(String(key), allowed);
    const next = hint ?? (allowed.length > 0 ? `it has ${allowed.join(", ")}` : "check which fields the value has");
    report("unknown-place", `the value of ${step} has no ${partName(at ?? [], key)}; ${next}`, { allowed });
  }
  return { step, as: "value", output, ...(at !== undefined && at.length > 0 && { at }) };
}

function partName(at: readonly (string | number)[], key: string | number): string {
  return at.slice(0, at.indexOf(key) + 1).join(".");
}

export function valueAt(ref: DraftRef, source: StepFacts): FoundSchema {
  return schemaAt(source.schema, ref.at ?? []);
}

function resolveIndex({ step, output }: DraftRef, source: StepFacts, report: Report): number | "all" {
  if (output === "all") return "all";
  const { outputs } = source;
  if (output === "single" || output === "value") {
    if (outputs > 1 && Number.isFinite(outputs)) {
      const message = `${step} makes ${outputs} outputs; use ${step}.output(0) for one, or ${step}.outputs() for all`;
      report("several-outputs", message);
    }
    return 0;
  }
  if (!Number.isSafeInteger(output) || output < 0 || output >= outputs) {
    const outcome = outputs === 1 ? "1 output, number 0" : `${outputs} outputs, numbers 0 to ${outputs - 1}`;
    report("output-index", `${step} makes ${outcome}; there is no output ${output}`);
  }
  return output;
}

export interface StepFacts {
  /** Null if unknown, because of a problem or a later decision. Uses are then not checked. */
  readonly yields: Yield | null;
  readonly outputs: number;
  readonly as: Reference["$ref"]["as"];
  readonly sizeBytes: number | null;
  readonly kinds?: readonly FileKind[];
  readonly keeps: boolean;
  readonly hasValue: boolean;
  readonly schema: Json | null;
  /** True if the step passes on one of several results. References to it then have the output `chosen`. */
  readonly picks?: true;
  readonly isOpen?: true;
}

export const UNKNOWN: StepFacts = {
  yields: null,
  outputs: Number.POSITIVE_INFINITY,
  as: "asset",
  sizeBytes: null,
  keeps: true,
  hasValue: true,
  schema: null,
};

export const MEDIA: StepFacts = { ...UNKNOWN, outputs: 1, hasValue: false };
export const VALUE: StepFacts = { ...UNKNOWN, yields: "value", outputs: 1, as: "value" };

type Known = (path: string) => StepFacts | undefined;

export function oneOf(among: readonly Reference[], yields: Yield, known: Known): StepFacts {
  if (yields === "value") return VALUE;
  const keeps = among.every(({ $ref }) => known($ref.step)?.keeps !== false);
  return { ...MEDIA, yields, as: yields === "voice" ? "voice" : "asset", keeps, picks: true };
}

export function shown(shows: readonly Reference[], yields: Yield, known: Known): StepFacts {
  const [first] = shows;
  const source = first === undefined ? undefined : known(first.$ref.step);
  if (first === undefined || source === undefined) return { ...UNKNOWN, yields };
  const { $ref } = first;
  const outputs = shows.length > 1 || $ref.output === "all" ? Number.POSITIVE_INFINITY : 1;
  if ($ref.as === "value") return { ...VALUE, outputs, schema: schemaAt(source.schema, $ref.at ?? []).schema };
  const { picks: _, ...passes } = oneOf(shows, yields, known);
  return { ...passes, outputs, sizeBytes: source.sizeBytes };
}
