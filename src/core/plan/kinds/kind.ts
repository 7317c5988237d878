import type { Catalog } from "../catalog-port.ts";
import type { DraftStep } from "../draft.ts";
import type {
  Decision,
  ExpandingStep,
  FileFacts,
  Json,
  MediaKind,
  PlanStep,
  Problem,
  Reference,
  SubmittingStep,
} from "../plan.ts";
import type { StepFacts } from "./facts.ts";

export interface NamedVoice {
  readonly id: string;
  readonly name: string | null;
  readonly labels: Readonly<Record<string, unknown>>;
}

/** Voices that share a model and a name, keyed by {@link voiceKey}. */
export type VoicesByName = ReadonlyMap<string, readonly NamedVoice[]>;

export interface PlanContext {
  readonly catalog: Catalog;
  /** Measured files, keyed by path in the draft. */
  readonly files: ReadonlyMap<string, FileFacts | { readonly error: string }>;
  /** If absent, names of voices are not replaced by ids. */
  readonly voices?: VoicesByName;
  readonly out?: ReadonlyMap<string, string>;
}

export interface Planning extends PlanContext {
  facts(path: string): StepFacts | undefined;
  report(code: string, field: string | null, message: string, more?: Pick<Problem, "allowed" | "replacedBy">): void;
}

export interface DraftFile {
  readonly path: string;
  readonly kind: MediaKind;
  readonly step: string;
  readonly bytes?: Uint8Array;
  readonly inside?: string;
}

export type Planned<S extends PlanStep> = { readonly step: S } | { readonly facts: StepFacts };

export interface StepKind<D extends DraftStep, S extends PlanStep> {
  files(draft: D): readonly DraftFile[];
  models(draft: D): readonly string[];
  plan(draft: D, planning: Planning): Planned<S>;
  facts(step: S, known: (path: string) => StepFacts | undefined): StepFacts;
  traits(step: S): StepTraits;
}

export type StepPricing =
  | { readonly by: "nothing" }
  | { readonly by: "quote" }
  /** The cost is known only afterwards, but cannot exceed `maxCostMicros`. */
  | { readonly by: "usage"; readonly maxCostMicros: number | null; readonly why: string }
  /** The cost of the steps that this step adds, of which only the maximum is known. */
  | { readonly by: "inner steps"; readonly maxCostMicros: number | null; readonly why: string };

/** What code outside this folder reads instead of a step's kind. */
export interface StepTraits {
  readonly noun: string;
  readonly note: string;
  /** A description of the request for people, such as a file's name. Null if the input describes it. */
  readonly subject: string | null;
  readonly brackets: readonly [open: string, close: string];
  readonly icon: "media" | "file" | "decision" | "group" | "value";
  /** All references except those in the step's condition. */
  readonly uses: readonly Reference["$ref"][];
  readonly requested: { readonly [field: string]: Json };
  readonly pricing: StepPricing;
  readonly typicalMs: number;
  /** Name of the step's concurrency limit: a modality of the service, or `task` for local code. Null means no limit. */
  readonly modality: string | null;
  readonly needsCode: boolean;
  readonly readsFiles: boolean;
  readonly decision: Decision | null;
  readonly submits: SubmittingStep | null;
  /**
   * Returns what must match, besides the input, before an earlier result is reused. Null if results are never reused.
   */
  readonly reuse: ((pipeline: string, step: PlanStep) => { readonly [field: string]: Json }) | null;
  readonly file: FileFacts | null;
  readonly standsFor: readonly Reference[];
  /** True if the step chooses one of `standsFor`, so that the others may be missing. */
  readonly isChoice: boolean;
  readonly expansion: ExpandingStep | null;
  readonly keeps: boolean;
}
