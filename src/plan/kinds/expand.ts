import type { ExpandDraft } from "../draft.ts";
import { fingerprint } from "../fingerprint.ts";
import type { ExpandStep } from "../plan.ts";
import { factsOf, UNKNOWN } from "./facts.ts";
import { bindValue, bindWhen, needsOf } from "./free-input.ts";
import type { StepKind } from "./kind.ts";

export const expandKind: StepKind<ExpandDraft> = {
  files: () => [],
  models: () => [],
  plan(draft, planning) {
    const { path, maxSteps, version, yields, maxCostMicros } = draft;
    const when = bindWhen(draft.when, planning);
    if (draft.on === null) return { step: null, facts: UNKNOWN };
    const next = "expand takes the value of a step, such as a chat's answer";
    const on = bindValue(draft.on, "value", planning, next);
    const needs = needsOf(draft, draft.on);
    const asks = fingerprint({ kind: "expand", on, version });
    const own = { on, maxSteps, version, yields, maxCostMicros };
    const step: ExpandStep = { kind: "expand", path, needs, fingerprint: asks, ...when, ...own };
    return { step, facts: factsOf(step, planning.facts) };
  },
};
