import type { Family } from "../families/index.ts";
import type { Json } from "./plan.ts";

/** A JSON Schema published by the service. Like all external data, it is not trusted. */
export type JsonSchema = { readonly [keyword: string]: unknown };

export interface CatalogModel {
  readonly id: string;
  /** `image`, `video`, `audio`, `text` for language models, or a kind that this version does not recognize. */
  readonly modality: string;
  readonly name: string | null;
  readonly description: string | null;
  readonly priceDescription: string | null;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  /**
   * `retired`: the model no longer exists, see `replacedBy`. `unsupported`: the service does not offer it yet.
   * `unknown`: this version does not recognize the model's kind of output.
   */
  readonly state: "live" | "retired" | "unsupported" | "unknown";
  readonly replacedBy?: string;
  /** The service's explanation of why the model cannot be used. */
  readonly message?: string;
}

/**
 * Problem code for an input that matches a row of the model's combination table only if fields set by schema defaults
 * are ignored. The service does not document whether such fields count, so a price estimate decides.
 */
export const BY_DEFAULT = "combination-by-default";

export interface FieldProblem {
  /** For example `unknown-field`, `enum`, `required`, `type`, `minimum` or `pattern`. */
  readonly code: string;
  /** Path that starts with `input`, such as `input.images[0]`. */
  readonly field: string;
  readonly message: string;
  readonly allowed?: readonly string[];
}

/** The models that a plan may use. */
export interface Catalog {
  /** Returns the model with this id, or null if the service does not know it. */
  model(id: string): CatalogModel | null;
  /** Returns the ids of all models that can be used, for lists and suggestions. */
  ids(): readonly string[];
  /** Returns all models, including retired ones. */
  models(): readonly CatalogModel[];
  /** Returns the service's advice about an unknown id, such as its successor, or null. */
  advice(id: string): string | null;
  /** Returns true if the service has no chat model with this id. Returns false if the service was not asked. */
  lacksChat(id: string): boolean;
  /** Returns the family of the model with this id, or null. */
  family(id: string): Family | null;
  /**
   * Validates an input without references against the model's schema, combination table and family rules, and returns
   * all problems. `pending`: fields with a placeholder for a value that is not known yet.
   */
  check(model: CatalogModel, input: Json, pending?: readonly string[]): readonly FieldProblem[];
}
