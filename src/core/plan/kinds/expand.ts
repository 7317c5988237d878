import { fingerprint } from "../plain-json.ts";
import type { DraftReference, DraftStepBase, ExpandingStep, Yield } from "../step.ts";
import { bindValue, bindWhen, MEDIA, needsOf, type StepKind, UNKNOWN, VALUE } from "./kind.ts";

export interface ExpandStep extends ExpandingStep {
  readonly kind: "expand";
}

export interface ExpandDraft extends DraftStepBase {
  readonly kind: "expand";
  /** The value that the added steps depend on. Null if it is invalid, which has already been reported. */
  readonly on: DraftReference | null;
  readonly maxSteps: number;
  readonly version: string;
  readonly yields: Yield | null;
  readonly maxCostMicros: number | null;
}

export const expandKind: StepKind<ExpandDraft, ExpandStep> = {
  files: () => [],
  models: () => [],
  plan(draft, planning) {
    const { path, maxSteps, version, yields, maxCostMicros } = draft;
    const when = bindWhen(draft.when, planning);
    if (draft.on === null) return { facts: UNKNOWN };
    const next = "pass `expand` the value of a step, such as a chat's answer";
    const on = bindValue(draft.on, "value", planning, next);
    const needs = needsOf(draft, draft.on);
    const asks = fingerprint({ kind: "expand", on, version });
    const fields = { on, maxSteps, version, yields, maxCostMicros };
    const step: ExpandStep = { kind: "expand", path, needs, fingerprint: asks, ...when, ...fields };
    return { step };
  },
  facts({ yields }) {
    const outputs = Number.POSITIVE_INFINITY;
    if (yields === "value") return { ...VALUE, outputs };
    const as = yields === "voice" ? "voice" : "asset";
    return { ...MEDIA, yields, outputs, as, ...(yields === null && { isOpen: true }) };
  },
  traits: (step) => ({
    noun: "expansion",
    note: `up to ${step.maxSteps} steps`,
    subject: null,
    brackets: ["[[", "]]"],
    icon: "group",
    uses: [step.on.$ref],
    requested: { on: step.on, version: step.version },
    pricing: {
      by: "inner steps",
      maxCostMicros: step.maxCostMicros,
      why: "its steps are not known until the value that it expands is available",
    },
    typicalMs: 0,
    modality: null,
    needsCode: true,
    readsFiles: false,
    decision: null,
    submits: null,
    provider: null,
    reuse: null,
    file: null,
    standsFor: [],
    isChoice: false,
    expansion: step,
    keeps: true,
  }),
};
