import type { Json } from "../plan.ts";
import type { SchemaLocation } from "../schema/field.ts";

/** A placeholder for a value of a step: any of these is possible. */
export class AnyOf {
  readonly values: readonly Json[];

  constructor(values: readonly Json[]) {
    this.values = values;
  }
}

/** A sample with places that are open. */
export type Sample = Json | AnyOf | readonly Sample[] | { readonly [key: string]: Sample };

/** One planned value of an input. `spread` marks a placeholder for several items of the enclosing list. */
export interface BoundValue {
  readonly input: Json;
  readonly sample: Sample;
  readonly spread?: true;
}

/** The location of a value in the input. */
export interface InputLocation {
  readonly field: string;
  /** Null where the schema says nothing. */
  readonly place: SchemaLocation | null;
  markChecked(field: string): void;
  /** Reports that the value there may be any of this many. */
  opens(choices: number): void;
}
