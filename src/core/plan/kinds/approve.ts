import { fingerprint } from "../plain-json.ts";
import type { Decision, DraftReference, DraftStepBase, StepBase, Yield } from "../step.ts";
import { bindAmong, bindWhen, needsOf, oneOf, type StepKind, shown, UNKNOWN } from "./kind.ts";

/** An approval: a person approves or rejects results. */
export interface ApproveStep extends StepBase, Decision {
  readonly kind: "approve";
  readonly yields: Yield;
}

export interface ApproveDraft extends DraftStepBase {
  readonly kind: "approve";
  readonly shows: readonly DraftReference[];
  readonly choose: boolean;
  readonly message: string | null;
  readonly parts?: readonly string[];
}

export const approveKind: StepKind<ApproveDraft, ApproveStep> = {
  files: () => [],
  models: () => [],
  plan(draft, planning) {
    const { path, choose, message, parts } = draft;
    const when = bindWhen(draft.when, planning);
    const field = choose ? "among" : "shown";
    const { references: shows, yields } = bindAmong(draft.shows, { field, local: false }, planning);
    if (yields === null) return { facts: UNKNOWN };
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
      ...(parts !== undefined && { parts }),
    };
    return { step };
  },
  facts: ({ choose, shows, yields }, known) => (choose ? oneOf : shown)(shows, yields, known),
  traits: ({ path, shows, choose, message, parts }) => ({
    noun: "decision",
    note: parts !== undefined ? "a person compares" : choose ? "a person chooses" : "a person approves",
    subject: message,
    brackets: ["{{", "}}"],
    icon: "decision",
    uses: shows.map(({ $ref }) => $ref),
    requested: { shows, choose },
    pricing: { by: "nothing" },
    typicalMs: 0,
    modality: null,
    needsCode: false,
    readsFiles: false,
    decision: { path, shows, choose, message, ...(parts !== undefined && { parts }) },
    submits: null,
    provider: null,
    reuse: null,
    file: null,
    standsFor: shows,
    isChoice: choose,
    expansion: null,
    keeps: true,
  }),
};
