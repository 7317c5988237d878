import type { Chosen, StoredCopy } from "../../journal/events.ts";
import { isStepFinal, type RunState, type StepState } from "../../journal/state.ts";
import type { PickStep } from "../../plan/plan.ts";
import { gateOf } from "../readiness.ts";
import { isUnwanted, referenced, referencedValue } from "../resolve.ts";
import type { Turn } from "../turn.ts";

/** One of what is chosen among: what would be chosen, and its bytes where we have them. */
export interface PickCandidate {
  readonly chosen: Chosen;
  readonly file: Pick<StoredCopy, "sha256" | "contentType"> | null;
  /** Whether its bytes are still on their way here. */
  readonly isComing: boolean;
}

/** One of several results: the first that is there, or the one that a function scores highest. */
export function pickStep(plan: PickStep, step: StepState, turn: Turn): void {
  if (isStepFinal(step.status)) return;
  if (step.chosen !== null) return turn.finish(step, "succeeded");
  const failure = step.failures.at(-1);
  if (failure !== undefined) return turn.finish(step, "failed", failure.error.message);
  if (!turn.mayBegin) return;
  const gate = gateOf(turn.state, plan);
  if (gate?.ready === "no") return;
  if (gate?.ready === "never") return turn.giveUp(step, gate.reason, gate.unwanted);
  const made = candidatesOf(turn.state, plan).filter((candidate) => candidate !== null);
  const [first] = made;
  if (first === undefined) {
    return turn.giveUp(step, "none of what it picks from was made", isUnwanted(turn.state, plan.among));
  }
  if (plan.by === "score" && made.some(({ isComing }) => isComing)) return;
  turn.start(step);
  if (plan.by === "score") return turn.issue({ type: "score", step: plan.path });
  turn.events.push({ type: "pick.made", step: plan.path, chosen: first.chosen, scores: null });
}

/** What a step picks from, in order; null where a result is missing. A list counts with what is there of it. */
export function candidatesOf(state: RunState, plan: PickStep): readonly (PickCandidate | null)[] {
  return plan.among.flatMap(({ $ref }, position): readonly (PickCandidate | null)[] => {
    if ($ref.as === "value") {
      const isThere = referencedValue(state, $ref) !== undefined;
      return [isThere ? { chosen: { step: $ref.step, index: position }, file: null, isComing: false } : null];
    }
    const { upload = null } = state.steps[$ref.step] ?? {};
    if (upload !== null) return [{ chosen: { step: $ref.step, index: 0 }, file: upload, isComing: false }];
    const made = referenced(state, $ref).map(({ step, output }): PickCandidate => {
      const isComing = output.copy === null && output.voiceId === null;
      return { chosen: { step, index: output.index }, file: output.copy, isComing };
    });
    return made.length === 0 && $ref.output !== "all" ? [null] : made;
  });
}
