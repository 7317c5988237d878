import type { DraftReference } from "../draft.ts";
import type { Json, MediaKind, Reference, Yield } from "../plan.ts";
import { type FoundSchema, schemaAt } from "../schema/value-schema.ts";
import { didYouMean } from "../suggest.ts";

type DraftRef = DraftReference["$ref"];
type Report = (code: string, message: string, more?: { readonly allowed?: readonly string[] }) => void;

/** True for a reference to a JSON value. */
export function isValueRef(ref: DraftRef, source: StepFacts): boolean {
  return ref.output === "value" || source.yields === "value";
}

/** A reference with all that is known of what it refers to, after checking that this is there. */
export function completeRef(ref: DraftRef, source: StepFacts, report: Report): Reference["$ref"] {
  const { step } = ref;
  if (isValueRef(ref, source)) return completeValueRef(ref, source, report);
  const output = resolveIndex(ref, source, report);
  const { as, yields, kinds } = source;
  const outcome = kinds === undefined || typeof output !== "number" ? yields : (kinds[output] ?? null);
  const isMedia = outcome === "image" || outcome === "video" || outcome === "audio";
  const picked = source.picks === true ? "chosen" : output;
  return { step, as, output: picked, ...(isMedia && { kind: outcome }) };
}

function completeValueRef(ref: DraftRef, source: StepFacts, report: Report): Reference["$ref"] {
  const { step, at } = ref;
  const output = ref.output === "all" || typeof ref.output === "number" ? ref.output : 0;
  if (!source.hasValue) report("not-a-value", `${step} makes media and no value; use its handle where media belong`);
  const { missing } = schemaAt(source.schema, at ?? []);
  if (missing !== null) {
    const { key, allowed } = missing;
    const hint = didYouMean(String(key), allowed);
    const next =
      hint ?? (allowed.length > 0 ? `it has ${allowed.join(", ")}` : "it is no list and has no fields there");
    report("unknown-place", `the value of ${step} has no ${partName(at ?? [], key)}; ${next}`, { allowed });
  }
  return { step, as: "value", output, ...(at !== undefined && at.length > 0 && { at }) };
}

function partName(at: readonly (string | number)[], key: string | number): string {
  return at.slice(0, at.indexOf(key) + 1).join(".");
}

/** What is known of a value that a reference takes. */
export function valueAt(ref: DraftRef, source: StepFacts): FoundSchema {
  return schemaAt(source.schema, ref.at ?? []);
}

/** Which output a reference takes, after checking that it is there. */
function resolveIndex({ step, output }: DraftRef, source: StepFacts, report: Report): number | "all" {
  if (output === "all") return "all";
  const { outputs } = source;
  if (output === "single" || output === "value") {
    if (outputs > 1 && Number.isFinite(outputs)) {
      const message = `${step} makes ${outputs} outputs; say which: ${step}.output(0) for one, ${step}.outputs() for all`;
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

/** What later steps may know of an earlier one. */
export interface StepFacts {
  /** Null when it cannot be known, because the step has a problem or says it later: nothing more is said about its uses. */
  readonly yields: Yield | null;
  readonly outputs: number;
  /** How a reference to its media is resolved. */
  readonly as: Reference["$ref"]["as"];
  /** Size of an uploaded file, bytes. */
  readonly sizeBytes: number | null;
  /** Kinds of its outputs, where one step makes several. */
  readonly kinds?: readonly MediaKind[];
  /** Whether its media are copied to this machine, where local functions can read them. */
  readonly keeps: boolean;
  /** Whether it yields a JSON value, beside its files or alone. */
  readonly hasValue: boolean;
  /** JSON Schema of its value, where that is known. */
  readonly schema: Json | null;
  /** It resolves to one of several results: references say so. */
  readonly picks?: true;
  /** What it yields is said only when it is planned itself. */
  readonly isOpen?: true;
}

/** Of a step with a problem. */
export const UNKNOWN: StepFacts = {
  yields: null,
  outputs: Number.POSITIVE_INFINITY,
  as: "asset",
  sizeBytes: null,
  keeps: true,
  hasValue: true,
  schema: null,
};

/** Of a step that makes one medium. */
export const MEDIA: StepFacts = { ...UNKNOWN, outputs: 1, hasValue: false };
/** Of a step that yields a value alone. */
export const VALUE: StepFacts = { ...UNKNOWN, yields: "value", outputs: 1, as: "value" };

type Known = (path: string) => StepFacts | undefined;

/** Of one of several results. */
export function oneOf(among: readonly Reference[], yields: Yield, known: Known): StepFacts {
  if (yields === "value") return VALUE;
  const keeps = among.every(({ $ref }) => known($ref.step)?.keeps !== false);
  return { ...MEDIA, yields, as: yields === "voice" ? "voice" : "asset", keeps, picks: true };
}

/** An approval without a choice lets just that pass which it shows. */
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
