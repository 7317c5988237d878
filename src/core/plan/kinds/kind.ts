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

/** Voices grouped by name, with keys from {@link voiceKey}. */
export type VoicesByName = ReadonlyMap<string, readonly NamedVoice[]>;

export interface PlanContext {
  readonly catalog: Catalog;
  /** Measured files, keyed by path in the draft. `error` says why a file could not be measured. */
  readonly files: ReadonlyMap<string, FileFacts | { readonly error: string }>;
  /** Voices that the draft gives by name instead of by id. If absent, names are not replaced by ids. */
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

/** A planned step, or only its facts if a problem leaves nothing to plan. */
export type Planned<S extends PlanStep> = { readonly step: S } | { readonly facts: StepFacts };

/** Plans one kind of step. Each kind has its own file and an entry in this folder's index. */
export interface StepKind<D extends DraftStep, S extends PlanStep> {
  files(draft: D): readonly DraftFile[];
  models(draft: D): readonly string[];
  plan(draft: D, planning: Planning): Planned<S>;
  facts(step: S, known: (path: string) => StepFacts | undefined): StepFacts;
  traits(step: S): StepTraits;
}

export type StepPricing =
  | { readonly by: "nothing" }
  /** The step is paid, and the service quotes its price. */
  | { readonly by: "quote" }
  /** The step is paid. Its cost is known only afterwards, but has a maximum in micro-dollars. */
  | { readonly by: "usage"; readonly maxCostMicros: number | null; readonly why: string }
  /** The inner steps are paid but not known yet. Together they cost at most this much. */
  | { readonly by: "inner steps"; readonly maxCostMicros: number | null; readonly why: string };

/** Properties of a planned step, which code outside this folder reads instead of its kind. */
export interface StepTraits {
  /** The step's name for people, such as "decision". */
  readonly noun: string;
  /** A short description for people: the model, the file, or who decides. */
  readonly note: string;
  /** A description of the request for people, such as a file's name. Null if the input describes it. */
  readonly subject: string | null;
  readonly brackets: readonly [open: string, close: string];
  readonly icon: "media" | "file" | "decision" | "group" | "value";
  /** References that the step uses, except references in its condition. */
  readonly uses: readonly Reference["$ref"][];
  /** The fields from which the step's fingerprint is calculated. */
  readonly requested: { readonly [field: string]: Json };
  readonly pricing: StepPricing;
  /** A rough duration, used if earlier runs give none. */
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
  /** Results of other steps that this step passes on or chooses from. */
  readonly standsFor: readonly Reference[];
  /** True if the step chooses one of the results in `standsFor`, so that the others may be missing. */
  readonly isChoice: boolean;
  /** The expansion that adds steps under `<path>/…` once its value is known. Null for other steps. */
  readonly expansion: ExpandingStep | null;
  /** True if the step's outputs on the service are copied to this machine. */
  readonly keeps: boolean;
}
