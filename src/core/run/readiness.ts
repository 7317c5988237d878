import { isStepFinal, type RunState, type StepState, thrownBy } from "../journal/state.ts";
import { stepStates } from "../lifecycle/index.ts";
import { isReference, isSecondChoice, referencesOf, resolveInput, traitsOf } from "../plan/index.ts";
import { type Condition, type Json, type PlanStep, type Reference, stepNamed } from "../plan/plan.ts";
import { firstReasons } from "./pruning.ts";
import { isAtHand, missingReason, type Reader, referencedValue, resolveReference, tally } from "./resolve.ts";
import { isOfEarlierOption, isPassedOver, secondGate } from "./second-choice.ts";

type Ref = Reference["$ref"];

export type Readiness =
  | { readonly ready: "no" }
  /** `skippedByCondition`: true if an unmet condition, not a failure, keeps the step from running. */
  | { readonly ready: "never"; readonly reason: string; readonly skippedByCondition: boolean }
  | { readonly ready: "yes"; readonly input: Json };

type Never = Extract<Readiness, { readonly ready: "never" }>;

export function readiness(state: RunState, step: PlanStep, input: Json, reader: Reader = "service"): Readiness {
  const gate = gateOf(state, step);
  if (gate !== null) return gate;
  const short = shortfall(state, step);
  if (short !== null) return short;
  if (!traitsOf(step).uses.every((ref) => isAtHand(state, ref, reader))) return { ready: "no" };
  return { ready: "yes", input: resolveInput(input, (ref) => resolveReference(state, ref, reader)) };
}

/** Checks the step's condition and the steps that it needs. Returns null if only its input remains to be checked. */
export function gateOf(state: RunState, step: PlanStep): Readiness | null {
  const expectedToFail = step.when !== undefined && "failed" in step.when ? step.when.failed : null;
  const asked = step.when !== undefined && "ref" in step.when ? step.when.ref.step : null;
  const second = secondGate(state, step.path);
  if (second?.is === "never") {
    const { reason, skippedByCondition } = second;
    return { ready: "never", reason, skippedByCondition };
  }
  let isOpen = second !== null;
  if (step.when !== undefined) {
    const holds = conditionHolds(state, step.when);
    if (holds === "no") return { ready: "never", reason: `not needed: ${phrase(step.when)}`, skippedByCondition: true };
    isOpen ||= holds === "unknown";
  }
  const mayLose = state.losses > 0;
  const isChoiceOfOptions = isSecondChoice(step);
  for (const path of step.needs) {
    const needed = state.steps[path]!;
    if (!isStepFinal(needed.status)) {
      if (second === null && isOfEarlierOption(state, step, path)) continue;
      if (isChoiceOfOptions && isPassedOver(state, step, path)) continue;
      isOpen = true;
      if (!mayLose) break;
      continue;
    }
    if (hasResult(needed) || path === expectedToFail) continue;
    // A step that can run without some results still needs the result that its condition reads.
    if (path !== asked && toleratesFailure(step)) continue;
    if (isOfEarlierOption(state, step, path)) continue;
    return {
      ready: "never",
      reason: `needs ${path}, which ${howItEnded(needed.status)}`,
      skippedByCondition: needed.skippedByCondition,
    };
  }
  if (!isOpen) return null;
  const { isChoice, uses } = traitsOf(step);
  const mayLack = !isChoice && (mayLose || uses.some((ref) => isForeseeable(state, ref)));
  return (mayLack ? shortfall(state, step) : null) ?? { ready: "no" };
}

export function whyNever(state: RunState, step: PlanStep): Never | null {
  const gate = gateOf(state, step);
  if (gate === null) return shortfall(state, step);
  return gate.ready === "never" ? gate : null;
}

/**
 * Returns whether the referenced result may be missing although nothing failed, for example because a value does not
 * contain the referenced field.
 */
function isForeseeable(state: RunState, { as, step }: Ref): boolean {
  if (as === "value" || state.steps[step]!.expanded !== null) return true;
  return stoodForBy(state, step).some(({ $ref }) => isForeseeable(state, $ref));
}

function stoodForBy(state: RunState, path: string): readonly Reference[] {
  const plan = stepNamed(state.planned.plan, path);
  return plan === undefined ? [] : traitsOf(plan).standsFor;
}

export function toleratesFailure(step: PlanStep): boolean {
  return quorumOf(step) !== null || traitsOf(step).isChoice;
}

function shortfall(state: RunState, step: PlanStep): Never | null {
  const quorum = quorumOf(step);
  if (quorum === null) {
    for (const ref of traitsOf(step).uses) {
      const reason = missingInput(state, ref);
      if (reason !== null) return { ready: "never", reason, skippedByCondition: false };
    }
    return null;
  }
  const places = placesOf("input" in step ? step.input : null);
  for (const { ref, inList } of places) {
    const reason = inList ? null : missingInput(state, ref);
    if (reason !== null) return { ready: "never", reason, skippedByCondition: false };
  }
  const listed = places.filter(({ inList }) => inList).map(({ ref }) => ref);
  const stopped = step.needs.filter((path) => isStopped(state.steps[path]!));
  const present =
    listed.length > 0
      ? listed.reduce((sum, ref) => sum + attainable(state, ref), 0)
      : step.needs.length - stopped.length;
  if (present >= quorum) return null;
  const missing = listed.flatMap((ref) => missingInput(state, ref) ?? []);
  const why = missing.length > 0 ? missing : stopped.map((path) => `${path} ${howItEnded(state.steps[path]!.status)}`);
  const skippedByCondition = stopped.length > 0 && stopped.every((path) => state.steps[path]!.skippedByCondition);
  return {
    ready: "never",
    reason: `needs ${quorum} results but has ${present}: ${firstReasons(why)}`,
    skippedByCondition,
  };
}

function missingInput(state: RunState, ref: Ref): string | null {
  const step = state.steps[ref.step]!;
  if (isStepFinal(step.status)) return missingReason(state, ref);
  if (ref.as === "value") return null;
  if (step.expanded === null || ref.output !== "all")
    return attainable(state, ref) > 0 ? null : `needs output ${ref.output} of ${ref.step}, which failed`;
  const lost = step.expanded.find((reference) => lacks(state, reference));
  return lost === undefined
    ? null
    : `needs all outputs of ${ref.step}, but the one from ${lost.$ref.step} was not produced`;
}

function lacks(state: RunState, { $ref }: Reference): boolean {
  const step = state.steps[$ref.step]!;
  if (!isStepFinal(step.status))
    return $ref.output === "all" && (step.expanded ?? []).some((reference) => lacks(state, reference));
  const { expected, available } = tally(state, $ref);
  return available < expected;
}

function attainable(state: RunState, ref: Ref): number {
  const step = state.steps[ref.step]!;
  if (isStepFinal(step.status)) return countOf(state, ref);
  if (step.expanded !== null) {
    const sum = step.expanded.reduce((most, { $ref }) => most + attainable(state, $ref), 0);
    return ref.output === "all" ? sum : Number(Number(ref.output) < sum);
  }
  const plan = stepNamed(state.planned.plan, ref.step);
  const passed = ref.as === "value" ? [] : stoodForBy(state, ref.step);
  if (passed.length > 0) {
    const sum = passed.reduce((most, { $ref }) => most + attainable(state, $ref), 0);
    if (typeof ref.output === "number" && !traitsOf(plan!).isChoice) return Number(ref.output < sum);
    return ref.output === "all" && !traitsOf(plan!).isChoice ? sum : Math.min(1, sum);
  }
  if (ref.output !== "all") return 1;
  return plan !== undefined && "outputs" in plan ? plan.outputs : Number.POSITIVE_INFINITY;
}

function countOf(state: RunState, ref: Ref): number {
  if (ref.output !== "all" || ref.as !== "value") return tally(state, ref).available;
  const value = referencedValue(state, ref);
  return Array.isArray(value) ? value.length : value === undefined ? 0 : 1;
}

function placesOf(input: Json, inList = false): readonly { readonly ref: Ref; readonly inList: boolean }[] {
  if (typeof input !== "object" || input === null) return [];
  if (isReference(input)) return [{ ref: input.$ref, inList: inList || input.$ref.output === "all" }];
  if (Array.isArray(input)) return input.flatMap((item: Json) => placesOf(item, true));
  if ("$text" in input) return referencesOf(input).map((ref) => ({ ref, inList: false }));
  return Object.values(input).flatMap((item) => placesOf(item));
}

function hasResult({ status }: StepState): boolean {
  return stepStates.withResult.has(status);
}

function isStopped(step: StepState): boolean {
  return isStepFinal(step.status) && !hasResult(step);
}

export function quorumOf(step: PlanStep): number | null {
  const policy = "policy" in step ? step.policy.onFailure : undefined;
  return typeof policy === "object" ? policy.quorum : null;
}

function conditionHolds(state: RunState, condition: Condition): "yes" | "no" | "unknown" {
  const path = "failed" in condition ? condition.failed : condition.ref.step;
  const step = state.steps[path]!;
  if (!isStepFinal(step.status)) return "unknown";
  if ("failed" in condition) {
    const { code } = condition;
    const isMeant = code === undefined || thrownBy(step)?.code === code;
    return step.status === "failed" && isMeant ? "yes" : "no";
  }
  // If the dependency failed or was skipped, a separate check gives the reason.
  if (!hasResult(step)) return "yes";
  const value = referencedValue(state, condition.ref);
  const holds =
    "equals" in condition
      ? JSON.stringify(value) === JSON.stringify(condition.equals)
      : isTruthy(value) === (condition.is === "truthy");
  return holds ? "yes" : "no";
}

function isTruthy(value: Json | undefined): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

function phrase(condition: Condition): string {
  if ("failed" in condition) {
    return `${condition.failed} did not fail${condition.code === undefined ? "" : ` with ${condition.code}`}`;
  }
  const what = [condition.ref.step, ...(condition.ref.at ?? [])].join(".");
  return "equals" in condition
    ? `${what} is not ${JSON.stringify(condition.equals)}`
    : `${what} is ${condition.is === "truthy" ? "empty" : "not empty"}`;
}

function howItEnded(status: StepState["status"]): string {
  return status === "failed" ? status : `was ${status}`;
}
