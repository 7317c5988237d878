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

/** All voices of a model that have the same name, by {@link voiceKey}. */
export type VoicesByName = ReadonlyMap<string, readonly NamedVoice[]>;

/** The models, files and voices that a draft is planned with. */
export interface PlanContext {
  readonly catalog: Catalog;
  /** Measured files, by their path in the draft. `error`: why a file could not be measured. */
  readonly files: ReadonlyMap<string, FileFacts | { readonly error: string }>;
  /** The voices whose names the draft uses instead of ids. Absent: names are not replaced by ids. */
  readonly voices?: VoicesByName;
  /** Paths of options that are already excluded, each with the reason. */
  readonly out?: ReadonlyMap<string, string>;
}

export interface Planning extends PlanContext {
  facts(path: string): StepFacts | undefined;
  report(code: string, field: string | null, message: string, more?: Pick<Problem, "allowed" | "replacedBy">): void;
}

export interface DraftFile {
  /** A path, an `http(s)` URL, or a name for the bytes. */
  readonly path: string;
  readonly kind: MediaKind;
  readonly step: string;
  readonly bytes?: Uint8Array;
  /** The only origin on a private network that the URL may have. */
  readonly inside?: string;
}

/** A planned step; or, if a problem leaves nothing to plan, only what is known about the step. */
export type Planned<S extends PlanStep> = { readonly step: S } | { readonly facts: StepFacts };

/** What planning needs to know about one kind of step. Each kind is one file, registered in this folder's index. */
export interface StepKind<D extends DraftStep, S extends PlanStep> {
  files(draft: D): readonly DraftFile[];
  models(draft: D): readonly string[];
  plan(draft: D, planning: Planning): Planned<S>;
  /** Returns what is known about the step when later steps are planned. `known`: returns the facts of earlier steps. */
  facts(step: S, known: (path: string) => StepFacts | undefined): StepFacts;
  traits(step: S): StepTraits;
}

/** How a step is priced before it runs. */
export type StepPricing =
  | { readonly by: "nothing" }
  /** The step is paid, and the service quotes its price. */
  | { readonly by: "quote" }
  /** The step is paid. Its cost is known only afterwards, but has a maximum in micro-dollars. */
  | { readonly by: "usage"; readonly maxCostMicros: number | null; readonly why: string }
  /** The inner steps are paid but not known yet. Together they cost at most this much. */
  | { readonly by: "inner steps"; readonly maxCostMicros: number | null; readonly why: string };

/**
 * A planned step's properties. The scheduler, prices, forecasts, diagrams, command line, report and dashboard use them
 * instead of the kind. A new field does not compile until every kind has it.
 */
export interface StepTraits {
  /** What people call the step, such as "decision". */
  readonly noun: string;
  /** A short description for people: the model, the file, or who decides. */
  readonly note: string;
  /** The author's description of what the step asks for; null if the input describes it. */
  readonly subject: string | null;
  /** Brackets around the step's label in a Mermaid flowchart. */
  readonly brackets: readonly [open: string, close: string];
  readonly icon: "media" | "file" | "decision" | "group" | "value";
  /** References that the step uses, except references in its condition. */
  readonly uses: readonly Reference["$ref"][];
  /** What the step's fingerprint covers. If one of these fields changes, the step counts as a different step. */
  readonly requested: { readonly [field: string]: Json };
  readonly pricing: StepPricing;
  /** A rough duration in milliseconds, which is used if earlier runs show no duration. */
  readonly typicalMs: number;
  /** Name of the step's concurrency limit: a modality of the service, or `task` for local code. Null: no limit. */
  readonly modality: string | null;
  /** True if the step runs a function from the pipeline's code. */
  readonly needsCode: boolean;
  /** True if the step reads media as local files. */
  readonly readsFiles: boolean;
  readonly decision: Decision | null;
  readonly submits: SubmittingStep | null;
  /** Returns what must match besides the input before an earlier result is reused. Null: results are never reused. */
  readonly reuse: ((pipeline: string, step: PlanStep) => { readonly [field: string]: Json }) | null;
  /** The file that the step sends to the service. */
  readonly file: FileFacts | null;
  /** Results of other steps that this step passes on or chooses from, because it makes none of its own. */
  readonly standsFor: readonly Reference[];
  /** True if the step chooses one of the results in `standsFor`, so that the others may be missing. */
  readonly isChoice: boolean;
  /** The expansion that adds steps under `<path>/…` once its value is known; null for other steps. */
  readonly expansion: ExpandingStep | null;
  /** True if the step's outputs on the service are copied to this machine. */
  readonly keeps: boolean;
}
