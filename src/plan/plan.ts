import type { MediaKind } from "../define/media.ts";

/** JSON as it stands in the journal. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** What a step yields: media of a kind, a voice, or a JSON value. */
export type Yield = MediaKind | "voice" | "value";

/**
 * A reference to another step's result, as it stands inside a planned input: `{ "$ref": … }`. `as` says what takes its
 * place when the input is resolved: `asset` → a media reference, `voice` → a voice id, `upload` → a media reference to
 * an uploaded file, `value` → the value itself.
 */
export type Reference = {
  readonly $ref: {
    readonly step: string;
    readonly as: "asset" | "voice" | "upload" | "value";
    /** Which output; `all` spreads into a list, `chosen` is the picked take. */
    readonly output: number | "all" | "chosen";
    /** Media kind that the referenced output has, where it is media. */
    readonly kind?: MediaKind;
  };
};

/** Per-step settings that change how a step is run, never what it asks for (they are no part of the fingerprint). */
export interface StepPolicy {
  /** Paid attempts at most; default 1. A further attempt is made only when the failed one cost nothing, or when more than 1 is set here. */
  readonly attempts: number;
  /** The most that one attempt may cost, in micro-dollars; needed when the model cannot be quoted. */
  readonly maxCostMicros: number | null;
  /** Whether outputs are copied to disk as soon as they exist. */
  readonly keep: boolean;
}

interface StepBase {
  /** Unique within the plan; segments joined by `/`. */
  readonly path: string;
  /** Paths of the steps whose results this one uses or waits for, sorted, without repeats. */
  readonly needs: readonly string[];
  /** Hash of what the step asks for, with references by path; version prefix `f1_`. */
  readonly fingerprint: string;
}

/** A paid job at the service. */
export interface JobStep extends StepBase {
  readonly kind: "job";
  readonly model: string;
  /** Model input with {@link Reference}s where upstream results go. */
  readonly input: Json;
  readonly yields: MediaKind | "voice";
  /** Outputs that the input asks for. */
  readonly outputs: number;
  readonly policy: StepPolicy;
}

/** A local file that is sent to the service, free of charge. */
export interface UploadStep extends StepBase {
  readonly kind: "upload";
  readonly yields: MediaKind;
  readonly file: FileFacts;
}

export type PlanStep = JobStep | UploadStep;

/** A local file, measured when the plan was made. */
export interface FileFacts {
  /** Absolute path at plan time. */
  readonly path: string;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly contentType: string;
}

/** A pipeline applied to an input: steps in an order in which every step comes after those it needs. Plain JSON. */
export interface Plan {
  readonly version: 1;
  readonly pipeline: string;
  readonly steps: readonly PlanStep[];
  /** What the pipeline returns: names to references (or nested lists and records of them). */
  readonly returns: { readonly [name: string]: Returned };
}

export type Returned = Reference | readonly Returned[] | { readonly [name: string]: Returned };

/** One thing wrong with a plan. All of them are found at once. */
export interface Problem {
  /** Literal name of the mistake, e.g. `unknown-field`. */
  readonly code: string;
  /** Step path, or null when it concerns the pipeline's own input or the whole plan. */
  readonly step: string | null;
  /** Dotted path of the field, list positions in brackets: `input.images[0]`; null when no field is at fault. */
  readonly field: string | null;
  /** What is wrong and what to do next. */
  readonly message: string;
  /** Accepted values or field names, where a closed set exists. */
  readonly allowed?: readonly string[];
  /** Successor of a retired model. */
  readonly replacedBy?: string;
}
