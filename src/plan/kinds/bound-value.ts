import type { Json } from "../plan.ts";
import type { SchemaLocation } from "../schema/field.ts";

/** A stand-in for a value of a step: any of these may come. */
export class AnyOf {
  readonly values: readonly Json[];

  constructor(values: readonly Json[]) {
    this.values = values;
  }
}

/** A sample with places that are open. */
export type Sample = Json | AnyOf | readonly Sample[] | { readonly [key: string]: Sample };

/** One value of an input, planned. `spread` marks a stand-in for several items of the list around it. */
export interface BoundValue {
  readonly input: Json;
  readonly sample: Sample;
  readonly spread?: true;
}

/** Where in the input a value stands. */
export interface InputLocation {
  readonly field: string;
  /** Null where the schema says nothing. */
  readonly place: SchemaLocation | null;
  markChecked(field: string): void;
  /** Says that a value stands there that may be any of so many. */
  opens(choices: number): void;
}
