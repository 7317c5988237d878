import type { RerunScope } from "../../../internal.ts";
import type { StepView } from "./run-wire.ts";

/** What server and page say to each other apart from runs: gauges, plans, and what is done to runs. Types only. */

export interface Gauges {
  readonly balanceMicros: number | null;
  /** Why the balance is not known. */
  readonly balanceError: string | null;
  readonly pace: {
    readonly sent: number;
    readonly inFlight: number;
    readonly queued: number;
    readonly pausedUntil: number | null;
    readonly limitPerMinute: number | null;
    /** Requests that this process sent within the last minute. */
    readonly lastMinute: number;
  };
}

/** Who looks: a viewer sees everything and changes nothing. */
export interface VisitorView {
  readonly role: "operator" | "viewer";
}

/** What the page asks for first. */
export interface WelcomeView extends VisitorView {
  /** What people type to start the command line. */
  readonly launcher: string;
}

export interface PlanView {
  /** The quote that a start agrees to; null where nothing can be started. */
  readonly quote: string | null;
  readonly ok: boolean;
  readonly problems: readonly {
    readonly code: string;
    readonly step: string | null;
    readonly field: string | null;
    readonly message: string;
  }[];
  /** The first ones. */
  readonly steps: readonly StepView[];
  readonly stepCount: number;
  readonly minMicros: number;
  /** Null when one of `openSteps` is open-ended. */
  readonly maxMicros: number | null;
  readonly expectedMicros: number;
  readonly openSteps: readonly string[];
  readonly forecastMs: number | null;
  /** Outputs that may have expired at the service when they are needed. */
  readonly risks: readonly { readonly why: string; readonly heals: boolean }[];
  /** Steps of the longest chain, in order. */
  readonly criticalPath: readonly string[];
}

export interface OfferedView {
  readonly name: string;
  readonly pipeline: string;
  /** Input to begin with, as JSON text. */
  readonly sample: string;
  /** What a form asks for; null where the input is no object with named fields. */
  readonly fields: readonly FieldView[] | null;
}

/** A value that waits for a decision, and how it is changed. */
export interface ShownValue {
  readonly value: unknown;
  readonly control: Control;
}

/** A named field of a pipeline's input. */
export interface FieldView {
  readonly name: string;
  readonly description: string | null;
  readonly required: boolean;
  readonly control: Control;
}

/** How a value is entered. `json`: as text, since no other control fits its schema. */
export type Control =
  | {
      readonly type: "text";
      readonly minLength: number;
      readonly maxLength: number | null;
      /** Values to choose from; any other text is accepted too. */
      readonly suggested?: readonly string[];
    }
  | { readonly type: "number"; readonly isInteger: boolean; readonly min: number | null; readonly max: number | null }
  | { readonly type: "switch" }
  | { readonly type: "choice"; readonly values: readonly (string | number)[] }
  | { readonly type: "file"; readonly kind: string }
  | { readonly type: "list"; readonly item: Control; readonly min: number; readonly max: number | null }
  | { readonly type: "group"; readonly fields: readonly FieldView[] }
  | { readonly type: "json" };

/** What of a step's input can be edited. */
export interface StepInputView {
  /** Null: nothing. */
  readonly fields: readonly FieldView[] | null;
  /** Why nothing can be, where that can be mended. */
  readonly why: string | null;
  /** Their values now, as JSON text. */
  readonly text: string;
}

/** A file that was picked in the browser and is on the server's disk now. */
export interface PickedView {
  readonly path: string;
  readonly sizeBytes: number;
}

export interface CandidateView {
  readonly jobId: string;
  readonly status: string;
  readonly prompt: string | null;
  readonly match: "key" | "prompt" | "possible" | "unlike";
  readonly costMicros: number | null;
  readonly createdAt: string | null;
}

/** How the code differs from the run's plan. */
export interface DriftView {
  readonly changed: readonly { readonly step: string; readonly fields: readonly string[] }[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly renamed: readonly { readonly from: string; readonly to: string }[];
}

/** Steps to run again, and their price; the first ones of each list. */
export interface RerunView extends Omit<RerunScope, "problems"> {
  /** The quote that a yes agrees to; null where nothing can be agreed to. */
  readonly quote: string | null;
  readonly openSteps: readonly string[];
  readonly staleCount: number;
  readonly problems: readonly string[];
}

/** What resuming would do. Both are null when it only continues. */
export interface ResumePreview {
  readonly drift: DriftView | null;
  readonly rerunScope: RerunView | null;
  /** The fields that are replaced, each with what it is then. */
  readonly edited: readonly { readonly step: string; readonly field: string; readonly value: string }[];
  /** Where an edited text stands in other steps, and stays unless it is replaced everywhere. */
  readonly sameText: readonly { readonly step: string; readonly field: string }[];
}

export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string };
}
