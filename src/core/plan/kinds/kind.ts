import { didYouMean } from "../../kit/lookup.ts";
import type { Catalog, JsonSchema } from "../catalog-port.ts";
import { mapRecord } from "../plain-json.ts";
import { applicable, isSchema, itemSchemas, propertySchemas } from "../schema.ts";
import type {
  Condition,
  Decision,
  DraftAsset,
  DraftCondition,
  DraftJson,
  DraftReference,
  DraftStepBase,
  ExpandingStep,
  FileFacts,
  FileKind,
  Json,
  MediaKind,
  Problem,
  ProviderPromise,
  ProviderStep,
  Reference,
  StepBase,
  SubmittingStep,
  Yield,
} from "../step.ts";

export interface NamedVoice {
  readonly id: string;
  readonly name: string | null;
  readonly labels: Readonly<Record<string, unknown>>;
}

export type VoicesByName = ReadonlyMap<string, readonly NamedVoice[]>;

export interface PlanContext {
  readonly catalog: Catalog;
  readonly files: ReadonlyMap<string, FileFacts | { readonly error: string }>;
  readonly voices?: VoicesByName;
  readonly out?: ReadonlyMap<string, string>;
}

export interface Planning extends PlanContext {
  facts(path: string): StepFacts | undefined;
  report(code: string, field: string | null, message: string, more?: Pick<Problem, "allowed" | "replacedBy">): void;
}

export interface DraftFile {
  readonly path: string;
  readonly kind: MediaKind;
  readonly step: string;
  readonly bytes?: Uint8Array;
  readonly inside?: string;
}

type Planned<S> = { readonly step: S } | { readonly facts: StepFacts };

export interface StepKind<D extends DraftStepBase, S extends StepBase> {
  files(draft: D): readonly DraftFile[];
  models(draft: D): readonly string[];
  plan(draft: D, planning: Planning): Planned<S>;
  facts(step: S, known: (path: string) => StepFacts | undefined): StepFacts;
  /** Returns the step's traits. Their `provider` is set if steps of this kind call a provider's model. */
  traits(step: S): StepTraits & { readonly provider: S extends ProviderStep ? object : null };
}

type StepPricing =
  | { readonly by: "nothing" }
  | { readonly by: "quote" }
  /** The cost is known only afterward, but cannot exceed `maxCostMicros`. */
  | { readonly by: "usage"; readonly maxCostMicros: number | null; readonly why: string }
  /** The cost comes from the steps that this step adds, so only its maximum is known. */
  | { readonly by: "inner steps"; readonly maxCostMicros: number | null; readonly why: string };

/** Properties of a step that code outside this folder can use without knowing the step's kind. */
export interface StepTraits {
  readonly noun: string;
  readonly note: string;
  /** A human-readable description of the request, such as a file's name. Null if the input describes it. */
  readonly subject: string | null;
  readonly brackets: readonly [open: string, close: string];
  readonly icon: "media" | "file" | "decision" | "group" | "value";
  /** All references except those in the step's condition. */
  readonly uses: readonly Reference["$ref"][];
  readonly requested: { readonly [field: string]: Json };
  readonly pricing: StepPricing;
  readonly typicalMs: number;
  /** Name of the step's concurrency limit: a modality of the service, or `task` for local code. Null means no limit. */
  readonly modality: string | null;
  readonly needsCode: boolean;
  readonly readsFiles: boolean;
  readonly decision: Decision | null;
  readonly submits: SubmittingStep | null;
  /** The provider to which the step's own code sends a request. Null if it sends none. */
  readonly provider: { readonly name: string; readonly promise: ProviderPromise } | null;
  /**
   * Returns what must match, besides the input, for an earlier result to be reused. Null if results are never reused.
   */
  readonly reuse: ((pipeline: string, step: StepBase) => { readonly [field: string]: Json }) | null;
  readonly file: FileFacts | null;
  readonly standsFor: readonly Reference[];
  /** True if the step chooses one of `standsFor`. The results that it does not choose may be missing. */
  readonly isChoice: boolean;
  readonly expansion: ExpandingStep | null;
  readonly keeps: boolean;
}

/** The schema found at a path. `missing` is the path's first key that the schema does not allow. */
interface FoundSchema {
  readonly schema: Json | null;
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
    const outcome = outputs === 1 ? "1 output (number 0)" : `${outputs} outputs (numbers 0 to ${outputs - 1})`;
    report("output-index", `${step} makes ${outcome}; there is no output ${output}`);
  }
  return output;
}

export interface StepFacts {
  /**
   * What the step makes. Null if it is decided later, or if a problem makes it unknown. While it is null, uses of the
   * step are not checked.
   */
  readonly yields: Yield | null;
  readonly outputs: number;
  readonly as: Reference["$ref"]["as"];
  readonly sizeBytes: number | null;
  readonly kinds?: readonly FileKind[];
  readonly keeps: boolean;
  readonly hasValue: boolean;
  readonly schema: Json | null;
  /** True if the step picks one of several results. References to the step then have the output `chosen`. */
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

interface Accepts {
  reference(ref: Reference["$ref"], source: StepFacts, field: string): void;
  /** The end of the error message if an asset of the account is used. Null if assets are allowed. */
  readonly assets: string | null;
}

export function bindFreeInput(value: DraftJson, field: string, planning: Planning, accepts: Accepts): Json {
  if (typeof value !== "object" || value === null) return value;
  if (isDraftReference(value)) return bindOne(value, field, planning, accepts.reference) as unknown as Json;
  if (isAsset(value)) {
    const { assetId } = value.$asset;
    if (accepts.assets !== null) planning.report("asset-here", field, `${field} is ${assetId}; ${accepts.assets}`);
    return { source: "asset", asset_id: assetId };
  }
  if (Array.isArray(value)) {
    return value.map((item: DraftJson, index) => bindFreeInput(item, `${field}[${index}]`, planning, accepts));
  }
  return mapRecord(value as { readonly [key: string]: DraftJson }, (item, key) =>
    bindFreeInput(item, key === "$text" ? field : `${field}.${key}`, planning, accepts),
  );
}

export function bindOne(
  { $ref }: DraftReference,
  field: string,
  planning: Planning,
  check: Accepts["reference"],
): Reference {
  const source = planning.facts($ref.step);
  if (source === undefined) return { $ref: { step: $ref.step, as: "asset", output: 0 } };
  const bound = completeRef($ref, source, (code, message, more) => planning.report(code, field, message, more));
  if (source.yields !== null || source.isOpen === true) check(bound, source, field);
  return { $ref: bound };
}

export function bindValue(reference: DraftReference, field: string, planning: Planning, next: string): Reference {
  const source = planning.facts(reference.$ref.step);
  const isMedia = source !== undefined && source.yields !== null && !isValueRef(reference.$ref, source);
  const isOpen = source?.isOpen === true;
  if (!isMedia && !isOpen) return bindOne(reference, field, planning, () => {});
  const { step } = reference.$ref;
  const outcome = isOpen ? "does not declare that it yields values" : "does not yield a value";
  planning.report("not-a-value", field, `${step} ${outcome}; ${next}`);
  return { $ref: { step, as: "value", output: 0 } };
}

export function checkReadable(ref: Reference["$ref"], source: StepFacts, field: string, { report }: Planning): void {
  if (source.keeps || ref.as === "value" || ref.as === "voice") return;
  const message = `${ref.step} keeps no copy (keep: false), but a local function reads files on this machine; remove keep: false from ${ref.step}`;
  report("not-kept", field, message);
}

export function needsOf(step: DraftStepBase, ...used: readonly unknown[]): readonly string[] {
  const { when, after } = step;
  const condition = when === null ? [] : "failed" in when ? [when.failed] : [when.ref.$ref.step];
  const needs = new Set([...after, ...condition]);
  for (const part of used) addSteps(part, needs);
  return needs.size > 1 ? [...needs].sort() : [...needs];
}

function addSteps(value: unknown, to: Set<string>): void {
  if (typeof value !== "object" || value === null) return;
  if ("$ref" in value) to.add((value as DraftReference).$ref.step);
  else for (const inner of Object.values(value)) addSteps(inner, to);
}

export function bindWhen(when: DraftCondition | null, planning: Planning): { readonly when?: Condition } {
  if (when === null) return {};
  if ("failed" in when) return { when };
  const next =
    "set `when` to the value of a step, such as a chat's answer or one of its fields; to test for a failure, use failed(step)";
  const { $ref: ref } = bindValue(when.ref, "when", planning, next);
  return { when: "equals" in when ? { ref, equals: when.equals } : { ref, is: when.is } };
}

export function isDraftReference(value: object): value is DraftReference {
  return "$ref" in value;
}

export function isAsset(value: object): value is DraftAsset {
  return "$asset" in value;
}

interface Among {
  readonly references: readonly Reference[];
  readonly yields: Yield | null;
}

interface What {
  readonly field: string;
  readonly local: boolean;
}

interface Member {
  readonly reference: Reference;
  readonly field: string;
  readonly step: string;
  readonly yields: Yield | null;
}

export function bindAmong(given: readonly DraftReference[], what: What, planning: Planning): Among {
  const members = given.map((reference, index) => {
    const field = given.length === 1 ? what.field : `${what.field}[${index}]`;
    return bindMember(reference, field, what, planning);
  });
  const first = members.find(({ yields }) => yields !== null);
  for (const { step, yields, field } of members) {
    if (first === undefined || yields === null || yields === first.yields) continue;
    const message = `${step} yields ${say(yields)}, but ${first.step} yields ${say(first.yields!)}; use results of the same kind`;
    planning.report("media-kind", field, message);
  }
  const isKnown = members.length > 0 && members.every(({ yields }) => yields !== null);
  return { references: members.map(({ reference }) => reference), yields: isKnown ? first!.yields : null };
}

function bindMember(given: DraftReference, field: string, what: What, planning: Planning): Member {
  const { step } = given.$ref;
  const source = planning.facts(step);
  const reference = bindOne(given, field, planning, (ref, facts) => {
    if (!what.local) return;
    checkReadable(ref, facts, field, planning);
    if (ref.as !== "value") return;
    const message = `${step} yields a value, but a scoring function accepts only files; use a task to choose among values`;
    planning.report("not-media", field, message);
  });
  if (source?.isOpen === true) {
    const message = `${step} does not declare what it yields; set its \`yields\` option, for example yields: "image"`;
    planning.report("unknown-yield", field, message);
  }
  if (source === undefined) return { reference, field, step, yields: null };
  const yields = isValueRef(given.$ref, source) ? "value" : (reference.$ref.kind ?? source.yields);
  return { reference, field, step, yields };
}

function say(yields: Yield): string {
  const nouns = {
    image: "an image",
    video: "a video",
    audio: "audio",
    text: "text",
    voice: "a voice",
    value: "a value",
  };
  return nouns[yields];
}
