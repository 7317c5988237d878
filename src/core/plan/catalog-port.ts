import type { Family } from "../families/index.ts";
import type { Json } from "./plan.ts";

/** A JSON Schema published by the service; as untrusted as any other external data. */
export type JsonSchema = { readonly [keyword: string]: unknown };

export interface CatalogModel {
  readonly id: string;
  /** `image`, `video`, `audio`, `text` for language models, or a kind that this version does not know. */
  readonly modality: string;
  readonly name: string | null;
  readonly description: string | null;
  readonly priceDescription: string | null;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  /**
   * `retired`: gone, see `replacedBy`. `unsupported`: exists, but not at this service yet. `unknown`: makes something
   * that this version does not know.
   */
  readonly state: "live" | "retired" | "unsupported" | "unknown";
  readonly replacedBy?: string;
  /** Why it cannot be used, as the service says. */
  readonly message?: string;
}

/**
 * Problem code for an input that matches no row of its model's table only because schema defaults count as given. The
 * service does not publish whether they do, so an estimate decides.
 */
export const BY_DEFAULT = "combination-by-default";

/** A mistake in one field of an input. */
export interface FieldProblem {
  /** Such as `unknown-field`, `enum`, `required`, `type`, `minimum` or `pattern`. */
  readonly code: string;
  /** Path from `input` on: `input.images[0]`. */
  readonly field: string;
  readonly message: string;
  readonly allowed?: readonly string[];
}

/** The models that a plan may use. */
export interface Catalog {
  /** Null if the service does not know the id. */
  model(id: string): CatalogModel | null;
  /** All known usable ids, for lists and suggestions. */
  ids(): readonly string[];
  /** All described models, including retired ones. */
  models(): readonly CatalogModel[];
  /** What the service says about an unknown id, such as its successor; null if nothing. */
  advice(id: string): string | null;
  /** True if the service says that it has no chat model with this id; false if it was not asked. */
  lacksChat(id: string): boolean;
  /** The family of the model with this id; null if it has none. */
  family(id: string): Family | null;
  /**
   * Validates an input without references against the model's schema, its combination table and its family's rules;
   * returns all problems. `pending`: fields with a placeholder for a value that is not known yet.
   */
  check(model: CatalogModel, input: Json, pending?: readonly string[]): readonly FieldProblem[];
}
