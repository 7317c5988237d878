import type { Json } from "../plan/plan.ts";
import type { Draft } from "./draft.ts";

/** A result of an earlier step as a local function sees it: a file on this machine, to be read and not changed. */
export interface LocalFile {
  readonly path: string;
  readonly contentType: string;
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** What a task may use beside its input. */
export interface TaskContext {
  /** Aborted when the run is stopped. */
  readonly signal: AbortSignal;
  /** A folder of its own, empty at the start of every try. */
  readonly folder: string;
  /** Where a declared file must be written to. Throws for a name that was not declared. */
  file(name: string): string;
  /** Says how far it is, from 0 to 1. */
  progress(fraction: number): void;
}

/** One of several results, as a scoring function sees it. `index` counts from 0 in the order in which they were given. */
export interface Candidate extends LocalFile {
  readonly index: number;
}

/** Code that a run needs and no journal can hold; found again by the path of its step. */
export type LocalFunction =
  | { readonly kind: "task"; readonly run: (input: unknown, context: TaskContext) => unknown }
  | { readonly kind: "score"; readonly score: (candidate: Candidate) => number | Promise<number> }
  /** Records the steps for a value; they are named `<path>/…`, and what is returned is a list of references. */
  | { readonly kind: "expand"; readonly expand: (value: Json) => Draft };
