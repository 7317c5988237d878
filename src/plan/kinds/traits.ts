import type { FileFacts, Json, Reference } from "../plan.ts";

/** How a step's price is known before it runs. */
export type StepPricing =
  | { readonly by: "nothing" }
  /** Paid; the service quotes it. */
  | { readonly by: "quote" }
  /** Paid; known afterwards only, up to a maximum in micro-dollars. */
  | { readonly by: "usage"; readonly maxCostMicros: number | null; readonly why: string }
  /** Its inner steps are paid, and not known yet; together they may cost so much. */
  | { readonly by: "inner steps"; readonly maxCostMicros: number | null; readonly why: string };

/** Requests to the service: whole jobs, and single requests beside them. */
export interface Requests {
  readonly jobs: number;
  readonly others: number;
}

export const NO_REQUESTS: Requests = { jobs: 0, others: 0 };

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
  readonly requests: Requests;
  /** With every repair and every inner step that may come. */
  readonly requestsAtMost: Requests;
  /** Duration where nothing is known from earlier runs, milliseconds: a rough guess. */
  readonly typicalMs: number;
  /** The limit that it counts under: what the service does by modality, `task` for local functions. Null: under none. */
  readonly modality: string | null;
  /** Whether it runs a function of the pipeline's own code. */
  readonly needsCode: boolean;
  /** Whether that function reads media as files of this machine. */
  readonly readsFiles: boolean;
  /** Whether it waits for a person. */
  readonly needsPerson: boolean;
  /** The condition for reusing an earlier result, beside the same input; or why none is ever reused. */
  readonly reuse:
    | { readonly identity: (pipeline: string) => { readonly [field: string]: Json } }
    | { readonly never: string };
  /** The file that it sends to the service. */
  readonly file: FileFacts | null;
  /** Results that it passes on, or chooses one of, instead of yielding its own. */
  readonly standsFor: readonly Reference[];
  /** Whether it chooses one of them, so that others may be missing. */
  readonly isChoice: boolean;
  /** So many steps may come of it once its value is known, under `<path>/…`; null: it has no inner steps. */
  readonly maxInnerSteps: number | null;
  /** Whether its outputs at the service are copied to this machine. */
  readonly keeps: boolean;
}
