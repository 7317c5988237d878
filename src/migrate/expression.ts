import type { Json, MediaKind } from "../core/plan/plan.ts";
import type { MediaBounds } from "../core/plan/schema.ts";

export type Expression =
  | { readonly is: "json"; readonly value: Json }
  | { readonly is: "step"; readonly step: string }
  | { readonly is: "upload"; readonly input: string }
  | { readonly is: "input"; readonly input: string }
  | { readonly is: "template"; readonly parts: readonly (string | { readonly input: string })[] }
  | { readonly is: "list"; readonly items: readonly Expression[] }
  | { readonly is: "record"; readonly entries: readonly (readonly [string, Expression])[] };

export type InputKind =
  /** A media file. `step` is the name of the step that uploads it. */
  | { readonly is: "file"; readonly kind: MediaKind; readonly step: string }
  | { readonly is: "voice" }
  | { readonly is: "text"; readonly maxLength: number | null }
  | { readonly is: "choice"; readonly choices: readonly string[] };

/**
 * An input that the user supplies when the pipeline is run. `why` describes its origin in v2. Only files have `limits`.
 */
export type PipelineInput = { readonly name: string; readonly why: string; readonly limits?: MediaBounds } & InputKind;

export const json = (value: Json): Expression => ({ is: "json", value });

const NIL = "00000000-0000-4000-8000-000000000000";

type Leaf = Exclude<Expression, { readonly is: "list" | "record" }>;

export function evaluate<V>(expression: Expression, leaf: (leaf: Leaf) => V): V {
  if (expression.is === "list") return expression.items.map((item) => evaluate(item, leaf)) as V;
  if (expression.is !== "record") return leaf(expression);
  return Object.fromEntries(expression.entries.map(([name, value]) => [name, evaluate(value, leaf)])) as V;
}

export function inputsIn(expression: Expression): readonly string[] {
  const found: string[] = [];
  evaluate(expression, (leaf) => {
    if (leaf.is === "upload" || leaf.is === "input") found.push(leaf.input);
    if (leaf.is === "template")
      found.push(...leaf.parts.flatMap((part) => (typeof part === "string" ? [] : part.input)));
  });
  return found;
}

/** Evaluates an expression to a sample value, with valid placeholders for values that do not exist yet. */
export function sampleOf(expression: Expression, stringAt: "media" | "voice" = "media"): Json {
  return evaluate<Json>(expression, (leaf) => {
    if (leaf.is === "json") return leaf.value;
    if (leaf.is === "step" && stringAt === "voice") return `voice_${NIL}`;
    return leaf.is === "step" || leaf.is === "upload" ? { source: "asset", asset_id: `asset_${NIL}` } : "supplied";
  });
}

export function shown(expression: Expression): Json {
  return evaluate<Json>(expression, (leaf) => {
    switch (leaf.is) {
      case "json":
        return leaf.value;
      case "step":
        return `output of ${leaf.step}`;
      case "upload":
        return `file input ${leaf.input}`;
      case "input":
        return `input ${leaf.input}`;
      case "template":
        return leaf.parts.map((part) => (typeof part === "string" ? part : `\${${part.input}}`)).join("");
      default:
        return leaf satisfies never;
    }
  });
}
