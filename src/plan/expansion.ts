import type { Draft, DraftReference } from "./draft.ts";
import { isValueRef } from "./kinds/complete-ref.ts";
import type { StepFacts } from "./kinds/facts.ts";
import { bindOne } from "./kinds/free-input.ts";
import { factsOf, traitsOf } from "./kinds/index.ts";
import type { PlanContext, Planning } from "./kinds/kind.ts";
import { inStepOrder, planSteps } from "./make-plan.ts";
import { dependentsOf } from "./makespan.ts";
import type { ExpandingStep, Plan, PlanStep, Problem, Reference, Yield } from "./plan.ts";

export type ExpansionOutcome =
  | {
      readonly ok: true;
      readonly steps: readonly PlanStep[];
      readonly returns: readonly Reference[];
      readonly groups: NonNullable<Plan["groups"]>;
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Plans the steps that a value led to, among those of the run's plan. Either they are all fine, or every problem. */
export function planExpansion(
  step: ExpandingStep,
  drafted: Draft,
  context: PlanContext & { readonly plan: Plan },
): ExpansionOutcome {
  const { plan } = context;
  const facts = knownFacts(plan);
  const problems: Problem[] = [...drafted.problems];
  const report: Planning["report"] = (code, field, message, more) =>
    void problems.push({ code, step: step.path, field, message, ...more });
  if (drafted.steps.length > step.maxSteps) {
    report("too-many-steps", null, `leads to ${drafted.steps.length} steps, and maxSteps is ${step.maxSteps}`);
  }
  const steps = planSteps(drafted, context, { problems, facts });
  const planning: Planning = { ...context, facts: (path) => facts.get(path), report };
  const returns = (drafted.returns as readonly DraftReference[]).map((given, index) => {
    return bindReturned(given, `returns[${index}]`, step, { planning, isRead: isReadLocally(step, plan) });
  });
  problems.push(...circles(step, steps, returns, plan));
  if (problems.length > 0) return { ok: false, problems: inStepOrder(problems, drafted) };
  const own = step.maxCostMicros === null ? {} : { [step.path]: { maxCostMicros: step.maxCostMicros } };
  return { ok: true, steps, returns, groups: { ...drafted.groups, ...own } };
}

function knownFacts(plan: Plan): Map<string, StepFacts> {
  const facts = new Map<string, StepFacts>();
  for (const step of plan.steps)
    facts.set(
      step.path,
      factsOf(step, (path) => facts.get(path)),
    );
  return facts;
}

function bindReturned(
  given: DraftReference,
  field: string,
  step: ExpandingStep,
  { planning, isRead }: { readonly planning: Planning; readonly isRead: boolean },
): Reference {
  const { report, facts } = planning;
  const source = facts(given.$ref.step);
  const bound = bindOne(given, field, planning, (ref, { keeps }) => {
    if (!isRead || keeps || ref.as === "value" || ref.as === "voice") return;
    report(
      "not-kept",
      field,
      `${ref.step} keeps no copy (keep: false), and a local function reads it; leave keep out there`,
    );
  });
  const isValue = source !== undefined && isValueRef(given.$ref, source);
  const outcome: Yield | null = isValue ? "value" : (bound.$ref.kind ?? source?.yields ?? null);
  if (outcome === null) return bound;
  if (step.yields === null && outcome === "value") {
    report("expand-yields", field, `${given.$ref.step} yields a value; declare it with yields: "value"`);
  }
  if (step.yields !== null && step.yields !== outcome) {
    report("expand-yields", field, `${given.$ref.step} yields ${outcome}, and yields says ${step.yields}`);
  }
  return bound;
}

/** Whether a local function reads the results of the expansion. */
function isReadLocally({ path }: ExpandingStep, { steps }: Plan): boolean {
  return steps.some((step) => {
    const { readsFiles, uses } = traitsOf(step);
    return readsFiles && uses.some((ref) => ref.step === path);
  });
}

/** Steps of an expansion cannot use what waits for that expansion. */
function circles(
  { path }: ExpandingStep,
  steps: readonly PlanStep[],
  returns: readonly Reference[],
  plan: Plan,
): readonly Problem[] {
  const waiting = new Set([path]);
  const dependents = dependentsOf(plan);
  for (const one of waiting) for (const user of dependents.get(one) ?? []) waiting.add(user.path);
  const said = (needed: string) =>
    `uses ${needed}, which waits for ${path} itself; use only handles of steps that were added before it`;
  const used = steps.flatMap((step) =>
    step.needs.filter((one) => waiting.has(one)).map((one) => [step.path, one] as const),
  );
  const returned = returns.filter(({ $ref }) => waiting.has($ref.step)).map(({ $ref }) => [path, $ref.step] as const);
  return [...used, ...returned].map(([step, needed]) => ({ code: "cycle", step, field: null, message: said(needed) }));
}
