import type { Problem, StepPolicy } from "../plan/plan.ts";
import type { MediaKind } from "./media.ts";

/** A reference before the catalog was asked what it refers to. */
export interface DraftReference {
  readonly $ref: { readonly step: string; readonly output: number | "all" | "single" };
}

/** An owned asset with the kind of media that the writer says it is. */
export interface DraftAsset {
  readonly $asset: { readonly assetId: string; readonly kind: MediaKind };
}

/** JSON with references. */
export type DraftJson =
  | null
  | boolean
  | number
  | string
  | DraftReference
  | DraftAsset
  | readonly DraftJson[]
  | { readonly [key: string]: DraftJson };

interface DraftStepBase {
  readonly path: string;
  /** Steps that must be over before this one begins, beside those it uses. */
  readonly after: readonly string[];
}

export interface JobDraft extends DraftStepBase {
  readonly kind: "job";
  readonly model: string;
  readonly input: DraftJson;
  readonly policy: StepPolicy;
}

export interface UploadDraft extends DraftStepBase {
  readonly kind: "upload";
  readonly file: string;
  /** Null when neither the writer nor the file's ending says. */
  readonly media: MediaKind | null;
}

export type DraftStep = JobDraft | UploadDraft;

/** Everything that one build wrote down, mistakes included. */
export interface Recorded {
  readonly steps: readonly DraftStep[];
  readonly returns: DraftJson;
  readonly problems: readonly Problem[];
}
