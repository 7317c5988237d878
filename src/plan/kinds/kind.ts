import type { Catalog } from "../catalog-port.ts";
import type { DraftStep } from "../draft.ts";
import type { FileFacts, MediaKind, PlanStep, Problem } from "../plan.ts";
import type { StepFacts } from "./facts.ts";
import type { StepTraits } from "./traits.ts";

/** What a plan is held against. */
export interface PlanContext {
  readonly catalog: Catalog;
  /** Measured files by path as the draft gives it; `error` says why a file could not be measured. */
  readonly files: ReadonlyMap<string, FileFacts | { readonly error: string }>;
}

/** What a kind of step needs to become a step of the plan. */
export interface Planning extends PlanContext {
  /** Facts of the steps before this one. */
  facts(path: string): StepFacts | undefined;
  /** Notes a problem of this step. */
  report(code: string, field: string | null, message: string, more?: Pick<Problem, "allowed" | "replacedBy">): void;
}

/** A file that a draft uploads. */
export interface DraftFile {
  /** A path, an `http` or `https` URL, or a name for the bytes. */
  readonly path: string;
  readonly kind: MediaKind;
  readonly step: string;
  readonly bytes?: Uint8Array;
}

/** What comes of a drafted step: the planned one, or, after a problem that leaves nothing to plan, what others may know of it. */
export type Planned<S extends PlanStep> = { readonly step: S } | { readonly facts: StepFacts };

/** One kind of step, as far as drafts and plans go. Every kind is one file, registered in the index of this folder. */
export interface StepKind<D extends DraftStep, S extends PlanStep> {
  files(draft: D): readonly DraftFile[];
  models(draft: D): readonly string[];
  plan(draft: D, planning: Planning): Planned<S>;
  /** What later steps may know of it; `known`: the same of earlier ones. */
  facts(step: S, known: (path: string) => StepFacts | undefined): StepFacts;
  traits(step: S): StepTraits;
}
