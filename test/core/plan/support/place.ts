import type { InputLocation } from "../../../../src/core/plan/kinds/bind-reference.ts";
import { MEDIA, type Planning, type StepFacts, UNKNOWN, VALUE } from "../../../../src/core/plan/kinds/kind.ts";
import type { Json } from "../../../../src/core/plan/plan.ts";
import { schemaLocation } from "../../../../src/core/plan/schema.ts";

const image: StepFacts = { ...MEDIA, yields: "image" };
const value = (schema: Json | null = null): StepFacts => ({ ...VALUE, schema });
export const known: Readonly<Record<string, StepFacts>> = {
  a: image,
  many: { ...image, outputs: 3 },
  endless: { ...image, outputs: Number.POSITIVE_INFINITY },
  film: { ...MEDIA, yields: "video" },
  file: { ...MEDIA, yields: "image", as: "upload", sizeBytes: 20 },
  voice: { ...MEDIA, yields: "voice", as: "voice" },
  mix: { ...MEDIA, yields: "image", outputs: 2, kinds: ["image", "video"], hasValue: true },
  loose: { ...image, keeps: false },
  looseVoice: { ...MEDIA, yields: "voice", as: "voice", keeps: false },
  broken: UNKNOWN,
  open: { ...UNKNOWN, isOpen: true },
  best: { ...image, picks: true },
  v: value({
    type: "object",
    properties: { n: { type: "integer" }, s: { type: "string" } },
    additionalProperties: false,
  }),
  free: value(),
  text: value({ type: "string" }),
};
export const draft = (step: string, output: string | number = "single", at?: readonly (string | number)[]) =>
  ({ $ref: { step, output, ...(at !== undefined && { at }) } }) as { readonly $ref: never };

/** The place of `field` in an input with this schema, and the problems that were reported for it. */
export function place(schema: Json | null, name = "field") {
  const problems: string[] = [];
  const opened: number[] = [];
  const checked: string[] = [];
  const field = `input.${name}`;
  const location: InputLocation = {
    field,
    schema: schema === null ? null : schemaLocation({ properties: { [name]: schema } }).property(name),
    markChecked: (path) => void checked.push(path),
    opens: (count) => void opened.push(count),
  };
  const planning = {
    facts: (path: string) => known[path],
    report: (code: string, where: string | null, message: string) => void problems.push(`${code} ${where}: ${message}`),
  } as unknown as Planning;
  return { location, planning, problems, opened, checked };
}
