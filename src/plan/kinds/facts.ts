import type { Json, MediaKind, Reference, Yield } from "../plan.ts";
import { schemaAt } from "../schema/value-schema.ts";

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
