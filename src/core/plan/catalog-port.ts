import type { Family } from "../families/index.ts";
import type { Json } from "./step.ts";

/** A JSON Schema published by the service. Like all external data, it is untrusted. */
export type JsonSchema = { readonly [keyword: string]: unknown };

export interface CatalogModel {
  readonly id: string;
  /**
   * The kind of output: `image`, `video`, `audio`, `text` for language models, or a kind that this version does not
   * recognize.
   */
  readonly modality: string;
  readonly name: string | null;
  readonly description: string | null;
  readonly priceDescription: string | null;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  /**
   * `retired` if the model no longer exists (see `replacedBy`). `unsupported` if the service does not offer it yet.
   * `unknown` if this version does not recognize its kind of output.
   */
  readonly state: "live" | "retired" | "unsupported" | "unknown";
  readonly replacedBy?: string;
  /** The service's explanation of why the model cannot be used. */
  readonly message?: string;
}

/** Code of a problem that is caused only by default values. The service may still accept the input. */
export const BY_DEFAULT = "combination-by-default";

export interface FieldProblem {
  /** Kind of mistake, such as `unknown-field`, `enum`, `required`, `type`, `minimum` or `pattern`. */
  readonly code: string;
  /** Path of the field, such as `input.images[0]`. */
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
  /** Returns the service's advice about an unknown id, such as the id of its successor. Null if there is none. */
  advice(id: string): string | null;
  /** Returns whether the service has reported that it has no chat model with this id. */
  lacksChat(id: string): boolean;
  /** Returns the family of the model with this id, or null. */
  family(id: string): Family | null;
  /**
   * Validates an input that contains no references. Checks it against the model's schema, combination table and family
   * rules, and returns all problems. `pending` lists the fields whose values are placeholders.
   */
  check(model: CatalogModel, input: Json, pending?: readonly string[]): readonly FieldProblem[];
}
