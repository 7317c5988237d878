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

/** A voice as the model's service lists it. */
export interface NamedVoice {
  readonly id: string;
  readonly name: string | null;
  readonly labels: Readonly<Record<string, unknown>>;
}

/** All voices of a name, by {@link voiceKey}. */
export type VoicesByName = ReadonlyMap<string, readonly NamedVoice[]>;

/** What a draft is planned against. */
export interface PlanContext {
  readonly catalog: Catalog;
  /** Measured files by path as in the draft; `error` says why one could not be measured. */
  readonly files: ReadonlyMap<string, FileFacts | { readonly error: string }>;
  /** Voices that the draft names; without it, names stay as they are. */
  readonly voices?: VoicesByName;
  /** Options that are already excluded, with the reason. */
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
  /** Allowed origin inside a network for the URL. */
  readonly inside?: string;
}

/** A planned step or, after a problem that leaves nothing to plan, what others may know about it. */
export type Planned<S extends PlanStep> = { readonly step: S } | { readonly facts: StepFacts };

/** How one kind of step is drafted and planned. Each kind is one file, registered in this folder's index. */
export interface StepKind<D extends DraftStep, S extends PlanStep> {
  files(draft: D): readonly DraftFile[];
  models(draft: D): readonly string[];
  plan(draft: D, planning: Planning): Planned<S>;
  /** What later steps may know about the step; `known`: the same for earlier steps. */
  facts(step: S, known: (path: string) => StepFacts | undefined): StepFacts;
  traits(step: S): StepTraits;
}

/** How a step's price is known before it runs. */
export type StepPricing =
  | { readonly by: "nothing" }
  /** Paid; the service quotes it. */
  | { readonly by: "quote" }
  /** Paid; known only afterwards, up to a maximum in micro-dollars. */
  | { readonly by: "usage"; readonly maxCostMicros: number | null; readonly why: string }
  /** The inner steps are paid and not known yet; together they cost at most this. */
  | { readonly by: "inner steps"; readonly maxCostMicros: number | null; readonly why: string };

/**
 * What a planned step is, for everything that treats steps alike: scheduler, prices, forecasts, diagrams, command line,
 * report and dashboard use these fields instead of the kind. A new field does not compile until every kind has it.
 */
export interface StepTraits {
  /** What people call the step, such as "decision". */
  readonly noun: string;
  /** A line for people: the model, the file, who decides. */
  readonly note: string;
  /** The author's description of the step's request; null: see the input. */
  readonly subject: string | null;
  /** Brackets around the step's label in a Mermaid flowchart. */
  readonly brackets: readonly [open: string, close: string];
  readonly icon: "media" | "file" | "decision" | "group" | "value";
  /** References that the step uses, besides its condition's. */
  readonly uses: readonly Reference["$ref"][];
  /** What the step's fingerprint covers; a change makes it another step. */
  readonly requested: { readonly [field: string]: Json };
  readonly pricing: StepPricing;
  /** A rough duration in milliseconds, used if no earlier runs show one. */
  readonly typicalMs: number;
  /** The limit that the step counts against: the modality of the service's work, `task` for local code. Null: none. */
  readonly modality: string | null;
  /** True if the step runs a function from the pipeline's code. */
  readonly needsCode: boolean;
  /** True if that function reads media as local files. */
  readonly readsFiles: boolean;
  readonly decision: Decision | null;
  readonly submits: SubmittingStep | null;
  /** What must match, besides the input, for an earlier result to be reused. Null: never reused. */
  readonly reuse: ((pipeline: string, step: PlanStep) => { readonly [field: string]: Json }) | null;
  /** The file that the step sends to the service. */
  readonly file: FileFacts | null;
  /** Results that the step passes on or chooses from, instead of its own. */
  readonly standsFor: readonly Reference[];
  /** True if the step chooses one of `standsFor`, so that others may be missing. */
  readonly isChoice: boolean;
  /** The expansion into steps under `<path>/…` once its value is known. */
  readonly expansion: ExpandingStep | null;
  /** True if the step's outputs on the service are copied to this machine. */
  readonly keeps: boolean;
}
