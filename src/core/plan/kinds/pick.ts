import { fingerprint } from "../plain-json.ts";
import type { DraftReference, DraftStepBase, Reference, StepBase, Yield } from "../step.ts";
import { bindAmong, bindWhen, needsOf, oneOf, type StepKind, UNKNOWN } from "./kind.ts";

/** A choice among results, by order or by a scoring function. References to the step resolve to the chosen result. */
export interface PickStep extends StepBase {
  readonly kind: "pick";
  readonly among: readonly Reference[];
  readonly by: "first" | "score";
  /** Version of the scoring function, as in {@link TaskStep}. Null if `by` is `first`. */
  readonly version: string | null;
  readonly yields: Yield;
  /**
   * Set if each candidate is made only after the previous one has failed or is late. If absent, all candidates are
   * made.
   */
  readonly second?: SecondChoice;
  /** The failure policy, as in {@link StepPolicy}. If absent, the pipeline's policy applies. */
  readonly onFailure?: "continue" | "failFast";
}

/** Options that are tried in order. An option starts only once the previous one has definitely failed or is late. */
export interface SecondChoice {
  /** Paths of the options, in the order of their candidates. The steps of an option are named `<option>/…`. */
  readonly options: readonly string[];
  /** True if the next option also starts when moderation refuses the previous one. */
  readonly afterModeration: boolean;
  /** How long the service may be unavailable before the next option starts, in milliseconds. Null means no limit. */
  readonly awayMs: number | null;
  /** True if the last option repeats the previous one with a prompt that was rewritten after moderation refused it. */
  readonly rewrites?: true;
  /** Options that are left out of the plan because they cannot be used, each with the reason. */
  readonly out: readonly { readonly option: string; readonly reason: string }[];
}

export interface PickDraft extends DraftStepBase {
  readonly kind: "pick";
  readonly among: readonly DraftReference[];
  readonly by: "first" | "score";
  readonly version: string | null;
  /** Set if each candidate is made only after all before it have failed or are late. Null if all are made at once. */
  readonly second: SecondChoice | null;
  readonly onFailure?: "continue" | "failFast";
}

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
