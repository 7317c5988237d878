import type { Json, MediaKind } from "../plan/plan.ts";

/** A value in a migrated job's input: rendered as TypeScript in the source, and as handles in the pipeline. */
export type Expression =
  | { readonly is: "json"; readonly value: Json }
  /** The output of another step, by its name. */
  | { readonly is: "step"; readonly step: string }
  /** A file input of the pipeline, uploaded. */
  | { readonly is: "upload"; readonly input: string }
  /** A text, voice or choice input of the pipeline. */
  | { readonly is: "input"; readonly input: string }
  /** A template with text inputs of the pipeline. */
  | { readonly is: "template"; readonly parts: readonly (string | { readonly input: string })[] }
  | { readonly is: "list"; readonly items: readonly Expression[] }
  | { readonly is: "record"; readonly entries: readonly (readonly [string, Expression])[] };

/** An input that whoever runs the pipeline supplies. */
export type PipelineInput = {
  readonly name: string;
  /** Its origin in the v2 work, for a comment in the source. */
  readonly why: string;
} /** `step` is the name of the step that uploads it. */ & (
  | { readonly is: "file"; readonly kind: MediaKind; readonly step: string }
  | { readonly is: "voice" }
  | { readonly is: "text"; readonly maxLength: number | null }
  | { readonly is: "choice"; readonly values: readonly string[] }
);

export const json = (value: Json): Expression => ({ is: "json", value });

const NIL = "00000000-0000-4000-8000-000000000000";

/** The value with valid placeholders for what does not exist yet, for validation by a schema. */
export function sampleOf(expression: Expression, stringAt: "media" | "voice" = "media"): Json {
  switch (expression.is) {
    case "json":
      return expression.value;
    case "step":
      return stringAt === "voice" ? `voice_${NIL}` : { source: "asset", asset_id: `asset_${NIL}` };
    case "upload":
      return { source: "asset", asset_id: `asset_${NIL}` };
    case "input":
    case "template":
      return "supplied";
    case "list":
      return expression.items.map((item) => sampleOf(item));
    case "record":
      return Object.fromEntries(expression.entries.map(([name, value]) => [name, sampleOf(value)]));
    default:
      return expression satisfies never;
  }
}

/** Names of the steps that a value uses. */
export function stepsIn(expression: Expression): readonly string[] {
  switch (expression.is) {
    case "step":
      return [expression.step];
    case "list":
      return expression.items.flatMap(stepsIn);
    case "record":
      return expression.entries.flatMap(([, value]) => stepsIn(value));
    default:
      return [];
  }
}
