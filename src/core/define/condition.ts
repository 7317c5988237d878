import type { FailurePolicy } from "../plan/plan.ts";
import type { Handle, Value } from "./handle.ts";

const CONDITION = Symbol.for("showrunner.condition");

/** When a step runs: a value that must be there (not null, false, 0, "" or an empty list), or one of these. */
export type When = Value | WhenCondition;

/** What {@link not}, {@link equals} and {@link failed} make. */
export interface WhenCondition {
  readonly test: "not" | "equals" | "failed";
  readonly of: Handle;
  /** What it must equal. */
  readonly value?: unknown;
}

/** Runs the step when the value is null, false, 0, "" or an empty list. */
export function not(value: Value): WhenCondition {
  return condition({ test: "not", of: value });
}

/** Runs the step when the value is just this one. */
export function equals<T>(value: Value<T>, requested: NoInfer<T>): WhenCondition {
  return condition({ test: "equals", of: value, value: requested });
}

/** Runs the step when another one failed: a second way to the same end, for {@link Words.choose}. */
export function failed(step: Handle): WhenCondition {
  return condition({ test: "failed", of: step });
}

/** A step begins once all it needs is through and at least so many of the results that it uses are there. */
export function quorum(count: number): FailurePolicy & { readonly quorum: number } {
  return { quorum: count };
}

export function isWhenCondition(value: unknown): value is WhenCondition {
  return typeof value === "object" && value !== null && CONDITION in value;
}

function condition(given: WhenCondition): WhenCondition {
  const created = { ...given };
  Object.defineProperty(created, CONDITION, { value: true });
  return Object.freeze(created);
}
