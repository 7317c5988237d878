import type { Yield } from "../plan/plan.ts";

declare const takes: unique symbol;

/** A model with the types of its input and of what it makes; `showrunner models pull` generates these. */
export interface Model<I, Y extends Yield, Max extends number = number> {
  readonly id: string;
  readonly yields: Y;
  /** How many outputs one job can have. */
  readonly maxOutputs: Max;
  /** Type-level only. */
  readonly [takes]?: I;
}

/** Names a model and types it. An untyped id works in `job` as well. */
export function model<I, Y extends Yield, Max extends number = 1>(
  id: string,
  facts: { readonly yields: Y; readonly maxOutputs?: Max },
): Model<I, Y, Max> {
  return { id, yields: facts.yields, maxOutputs: (facts.maxOutputs ?? 1) as Max };
}
