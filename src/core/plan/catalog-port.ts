import type { Family } from "../families/index.ts";
import type { Json } from "./plan.ts";

/** A JSON Schema as the service publishes it: trusted no further than any other data. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** A model as the catalog describes it. */
export interface CatalogModel {
  readonly id: string;
  /** image, video, audio, text of a language model, or a kind that this version does not know. */
  readonly modality: string;
  readonly name: string | null;
  readonly description: string | null;
  readonly priceDescription: string | null;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  /**
   * `retired`: gone, see `replacedBy`; `unsupported`: exists, but not at this service yet; `unknown`: makes something
   * that this version has no name for.
   */
  readonly state: "live" | "retired" | "unsupported" | "unknown";
  readonly replacedBy?: string;
  /** Why it cannot be used, in the service's own words. */
  readonly message?: string;
}

/**
 * Code of an input that is no combination of its model's table because its defaults count as given. Whether they do is not
 * published: an estimate of the service settles it.
 */
export const BY_DEFAULT = "combination-by-default";

/** One thing wrong with an input, as its model's schema sees it. */
export interface FieldProblem {
  /** `unknown-field`, `enum`, `required`, `type`, `minimum`, `pattern` … */
  readonly code: string;
  /** Path from `input` on: `input.images[0]`. */
  readonly field: string;
  readonly message: string;
  readonly allowed?: readonly string[];
}

/** The models that a plan may use. */
export interface Catalog {
  /** Null when the service knows no such id. */
  model(id: string): CatalogModel | null;
  /** Every id that can be used, as far as it is known; for lists and suggestions. */
  ids(): readonly string[];
  /** Every model that is described here, retired ones too. */
  models(): readonly CatalogModel[];
  /** What the service says of an id that it does not know, such as which model took its place; null for nothing. */
  advice(id: string): string | null;
  /** Whether the service says that it has no chat model of this id; false also where that was not asked. */
  lacksChat(id: string): boolean;
  /** What Showrunner knows of the family of the model with this id; null for a model of no family. */
  family(id: string): Family | null;
  /**
   * Checks an input without references against the model's schema, its table of combinations and the rules of its family:
   * everything that is wrong with it, at once. `pending`: its fields with a stand-in for a value that is not known yet.
   */
  check(model: CatalogModel, input: Json, pending?: readonly string[]): readonly FieldProblem[];
}
