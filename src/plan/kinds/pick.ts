import type { PickDraft } from "../draft.ts";
import { fingerprint } from "../fingerprint.ts";
import type { PickStep } from "../plan.ts";
import { bindAmong } from "./among.ts";
import { factsOf, UNKNOWN } from "./facts.ts";
import { bindWhen, needsOf } from "./free-input.ts";
import type { StepKind } from "./kind.ts";

export const pickKind: StepKind<PickDraft> = {
  files: () => [],
  models: () => [],
  plan(draft, planning) {
    const { path, by, version } = draft;
    const when = bindWhen(draft.when, planning);
    const what = { field: "among", local: by === "score" };
    const { references: among, yields } = bindAmong(draft.among, what, planning);
    if (yields === null) return { step: null, facts: UNKNOWN };
    const needs = needsOf(draft, draft.among);
    const asks = fingerprint({ kind: "pick", among, by, version });
    const step: PickStep = { kind: "pick", path, needs, fingerprint: asks, ...when, among, by, version, yields };
    return { step, facts: factsOf(step, planning.facts) };
  },
};
