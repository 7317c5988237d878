import type { PickDraft } from "../draft.ts";
import { fingerprint } from "../plain-json.ts";
import type { PickStep, SecondChoice } from "../plan.ts";
import { bindAmong, bindWhen, needsOf, oneOf, type StepKind, UNKNOWN } from "./kind.ts";

export const pickKind: StepKind<PickDraft, PickStep> = {
  files: () => [],
  models: () => [],
  plan(draft, planning) {
    const { path, by, version } = draft;
    const when = bindWhen(draft.when, planning);
    const what = { field: "among", local: by === "score" };
    const { references: among, yields } = bindAmong(draft.among, what, planning);
    if (yields === null) return { facts: UNKNOWN };
    const needs = needsOf(draft, draft.among);
    const asks = fingerprint({ kind: "pick", among, by, version });
    const fields = { among, by, version, yields, ...(draft.second !== null && { second: draft.second }) };
    const policy = draft.onFailure !== undefined && { onFailure: draft.onFailure };
    return { step: { kind: "pick", path, needs, fingerprint: asks, ...when, ...fields, ...policy } };
  },
  facts: ({ among, yields }, known) => oneOf(among, yields, known),
  traits: ({ among, by, version, second }) => ({
    noun: "choice",
    note: second !== undefined ? secondNote(second) : by === "first" ? "the first result" : "the highest score",
    subject: null,
    brackets: ["{", "}"],
    icon: "decision",
    uses: among.map(({ $ref }) => $ref),
    requested: { among, by, version },
    pricing: { by: "nothing" },
    typicalMs: 0,
    modality: null,
    needsCode: by === "score",
    readsFiles: by === "score",
    decision: null,
    submits: null,
    provider: null,
    reuse: null,
    file: null,
    standsFor: among,
    isChoice: true,
    expansion: null,
    keeps: true,
  }),
};

function secondNote({ options, out }: SecondChoice): string {
  const lost = out.map(({ option }) => `; ${option} is ruled out`).join("");
  return `${options.join(", else ")}${lost}`;
}
