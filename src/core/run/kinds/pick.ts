import type { Chosen, StoredCopy } from "../../journal/events.ts";
import { isStepFinal, type RunState, type StepState, thrownBy } from "../../journal/state.ts";
import { isSecondChoice } from "../../plan/index.ts";
import type { PickStep } from "../../plan/kinds/pick.ts";
import type { DecisionBuilder } from "../decision-builder.ts";
import { gateOf } from "../readiness.ts";
import { areSkippedByCondition, referenced, referencedValue } from "../resolve.ts";
import { whichOption, whyNone } from "../second-choice.ts";
import { type RunKind, wholeStep } from "./kind.ts";

export interface PickCandidate {
  readonly chosen: Chosen;
  readonly file: Pick<StoredCopy, "sha256" | "contentType"> | null;
  readonly isComing: boolean;
}

export const pickKind: RunKind<PickStep> = {
  decide,
  activity: "choosing",
  span: null,
  localInputs: (plan, state) => candidatesOf(state, plan),
  workedSpan: wholeStep,
  freeResult: (plan, state) => {
    const first = plan.by === "first" ? candidatesOf(state, plan).find((candidate) => candidate !== null) : null;
    return first ? [{ type: "pick.decided", step: plan.path, chosen: first.chosen, scores: null }] : null;
  },
};

function decide(plan: PickStep, step: StepState, builder: DecisionBuilder): void {
  if (isStepFinal(step.status)) return;
  if (step.chosen !== null) {
    return builder.finish(step, "succeeded", isSecondChoice(plan) ? whichOption(builder.state, plan) : null);
  }
  const error = thrownBy(step);
  if (error !== null) return builder.finish(step, "failed", error.message);
  if (!builder.mayStart) return;
  const gate = gateOf(builder.state, plan);
  if (gate?.ready === "no") return;
  if (gate?.ready === "never") return builder.skipOrFail(step, gate.reason, gate.skippedByCondition);
  const produced = candidatesOf(builder.state, plan).filter((candidate) => candidate !== null);
  const [first] = produced;
  if (first === undefined) {
    const why = isSecondChoice(plan) && plan.second.rewrites === true ? whyNone(builder.state, plan) : null;
    return builder.skipOrFail(
      step,
      why ?? "none of its candidates has a result",
      areSkippedByCondition(builder.state, plan.among),
    );
  }
  if (plan.by === "score" && produced.some(({ isComing }) => isComing)) return;
  builder.start(step);
  if (plan.by === "score") return builder.issue({ type: "pick", step: plan.path, input: null });
  builder.events.push({ type: "pick.decided", step: plan.path, chosen: first.chosen, scores: null });
}

export function candidatesOf(state: RunState, plan: PickStep): readonly (PickCandidate | null)[] {
  return plan.among.flatMap(({ $ref }, position): readonly (PickCandidate | null)[] => {
    if ($ref.as === "value") {
      const isThere = referencedValue(state, $ref) !== undefined;
      return [isThere ? { chosen: { step: $ref.step, index: position }, file: null, isComing: false } : null];
    }
    const { upload = null } = state.steps[$ref.step] ?? {};
    if (upload !== null) return [{ chosen: { step: $ref.step, index: 0 }, file: upload, isComing: false }];
    const produced = referenced(state, $ref).map(({ step, output }): PickCandidate => {
      const isComing = output.copy === null && output.voiceId === null;
      return { chosen: { step, index: output.index }, file: output.copy, isComing };
    });
    return produced.length === 0 && $ref.output !== "all" ? [null] : produced;
  });
}
