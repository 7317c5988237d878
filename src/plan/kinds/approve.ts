import type { ApproveDraft } from "../draft.ts";
import { fingerprint } from "../fingerprint.ts";
import type { ApproveStep } from "../plan.ts";
import { bindAmong } from "./among.ts";
import { factsOf, UNKNOWN } from "./facts.ts";
import { bindWhen, needsOf } from "./free-input.ts";
import type { StepKind } from "./kind.ts";

export const approveKind: StepKind<ApproveDraft> = {
  files: () => [],
  models: () => [],
  plan(draft, planning) {
    const { path, choose, message } = draft;
    const when = bindWhen(draft.when, planning);
    const field = choose ? "among" : "shown";
    const { references: shows, yields } = bindAmong(draft.shows, { field, local: false }, planning);
    if (yields === null) return { step: null, facts: UNKNOWN };
    const needs = needsOf(draft, draft.shows);
    const asks = fingerprint({ kind: "approve", shows, choose });
    const step: ApproveStep = {
      kind: "approve",
      path,
      needs,
      fingerprint: asks,
      ...when,
      shows,
      choose,
      message,
      yields,
    };
    return { step, facts: factsOf(step, planning.facts) };
  },
};
