import type { DraftStep } from "../draft.ts";
import { approveKind } from "./approve.ts";
import { chatKind } from "./chat.ts";
import { expandKind } from "./expand.ts";
import { jobKind } from "./job.ts";
import type { StepKind } from "./kind.ts";
import { pickKind } from "./pick.ts";
import { taskKind } from "./task.ts";
import { uploadKind } from "./upload.ts";

/** Every kind of step. */
const kinds: { readonly [K in DraftStep["kind"]]: StepKind<Extract<DraftStep, { readonly kind: K }>> } = {
  job: jobKind,
  upload: uploadKind,
  chat: chatKind,
  task: taskKind,
  approve: approveKind,
  pick: pickKind,
  expand: expandKind,
};

export function kindOf(step: DraftStep): StepKind<DraftStep> {
  return kinds[step.kind] as StepKind<DraftStep>;
}
