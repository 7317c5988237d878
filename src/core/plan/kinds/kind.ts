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

/** A voice of a model, as its service lists it. */
export interface NamedVoice {
  readonly id: string;
  readonly name: string | null;
  readonly labels: Readonly<Record<string, unknown>>;
}

/** By {@link voiceKey}: all voices of exactly this name. */
export type VoicesByName = ReadonlyMap<string, readonly NamedVoice[]>;

/** What a plan is held against. */
export interface PlanContext {
  readonly catalog: Catalog;
  /** Measured files by path as the draft gives it; `error` says why a file could not be measured. */
  readonly files: ReadonlyMap<string, FileFacts | { readonly error: string }>;
  /** The voices that the draft gives by name; without it, names are left as they are. */
  readonly voices?: VoicesByName;
  /** Options of choices that are out already, and why. */
  readonly out?: ReadonlyMap<string, string>;
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
  /** Origin inside a network that the URL may be of. */
  readonly inside?: string;
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

/** How a step's price is known before it runs. */
export type StepPricing =
  | { readonly by: "nothing" }
  /** Paid; the service quotes it. */
  | { readonly by: "quote" }
  /** Paid; known afterwards only, up to a maximum in micro-dollars. */
  | { readonly by: "usage"; readonly maxCostMicros: number | null; readonly why: string }
  /** Its inner steps are paid, and not known yet; together they may cost so much. */
  | { readonly by: "inner steps"; readonly maxCostMicros: number | null; readonly why: string };

/**
 * What a planned step is, to all that treat steps alike: scheduler, prices, forecasts, diagrams, command line, report and
 * dashboard ask these fields and no kind. A further field is answered by every kind before anything compiles.
 */
export interface StepTraits {
  /** What a person calls it, such as "decision". */
  readonly noun: string;
  /** A line for people: the model, the file, who decides. */
  readonly note: string;
  /** The author's description of its request; null: see its input. */
  readonly subject: string | null;
  /** Brackets around its label in a Mermaid flowchart. */
  readonly brackets: readonly [open: string, close: string];
  readonly icon: "media" | "file" | "decision" | "group" | "value";
  /** References that it uses, beside that of its condition. */
  readonly uses: readonly Reference["$ref"][];
  /** What its fingerprint covers: a change of these makes it another step. */
  readonly requested: { readonly [field: string]: Json };
  readonly pricing: StepPricing;
  /** Duration where nothing is known from earlier runs, milliseconds: a rough guess. */
  readonly typicalMs: number;
  /** The limit that it counts under: what the service does by modality, `task` for local functions. Null: under none. */
  readonly modality: string | null;
  /** Whether it runs a function of the pipeline's own code. */
  readonly needsCode: boolean;
  /** Whether that function reads media as files of this machine. */
  readonly readsFiles: boolean;
  /** What it asks a person, when it waits for one. */
  readonly decision: Decision | null;
  /** The job that it submits to a model of the catalog. */
  readonly submits: SubmittingStep | null;
  /** What must be the same, beside the input, for an earlier result to be reused. Null: none ever is. */
  readonly reuse: ((pipeline: string, step: PlanStep) => { readonly [field: string]: Json }) | null;
  /** The file that it sends to the service. */
  readonly file: FileFacts | null;
  /** Results that it passes on, or chooses one of, instead of yielding its own. */
  readonly standsFor: readonly Reference[];
  /** Whether it chooses one of them, so that others may be missing. */
  readonly isChoice: boolean;
  /** The inner steps that come of it, under `<path>/…`, once its value is known. */
  readonly expansion: ExpandingStep | null;
  /** Whether its outputs at the service are copied to this machine. */
  readonly keeps: boolean;
}
