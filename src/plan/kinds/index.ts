import type { DraftStep } from "../../define/draft.ts";
import { jobKind } from "./job.ts";
import type { StepKind } from "./kind.ts";
import { uploadKind } from "./upload.ts";

/** Every kind of step. */
const kinds: { readonly [K in DraftStep["kind"]]: StepKind<Extract<DraftStep, { readonly kind: K }>> } = {
  job: jobKind,
  upload: uploadKind,
};

export function kindOf(step: DraftStep): StepKind<DraftStep> {
  return kinds[step.kind] as StepKind<DraftStep>;
}
