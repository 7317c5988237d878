import { BY_DEFAULT } from "./catalog-port.ts";
import { voiceKey, voiceNameOf } from "./kinds/job.ts";
import {
  bindOne,
  completeRef,
  type DraftFile,
  isValueRef,
  type PlanContext,
  type Planning,
  type StepFacts,
} from "./kinds/kind.ts";
import { fingerprint, isReference, mapRecord } from "./plain-json.ts";
import {
  type Draft,
  type DraftJson,
  type DraftReference,
  type DraftStep,
  type ExpandingStep,
  type FailurePolicy,
  factsOf,
  type Json,
  kindOf,
  type Plan,
  type PlanStep,
  type Problem,
  type Reference,
  type Returned,
  stepNamed,
  traitsOf,
  type Yield,
} from "./plan.ts";
import { OptionsOut, rewrittenIn } from "./second-choice.ts";
import { withInputs } from "./texts.ts";

export function checkQuorum(step: PlanStep, { report, facts }: Planning): void {
  const policy = "policy" in step ? step.policy.onFailure : undefined;
  if (typeof policy !== "object") return;
  const used = traitsOf(step).uses;
  const isOpen = used.some(({ output, step }) => output === "all" && !Number.isFinite(facts(step)?.outputs ?? 1));
  if (policy.quorum <= used.length || isOpen) return;
  const message = `\`onFailure\` requires ${policy.quorum} results, but the step uses only ${used.length}; use quorum(n) with n at most ${used.length}`;
  report("bad-option", "onFailure", message);
}

export function checkReturnedQuorum(policy: FailurePolicy, returns: Plan["returns"]): readonly Problem[] {
  if (typeof policy !== "object") return [];
  const returned = referencesIn(returns);
  if (policy.quorum <= returned.length || returned.some(({ output }) => output === "all")) return [];
  const message = `\`onFailure\` requires ${policy.quorum} results, but the pipeline returns only ${returned.length}; lower the quorum`;
  return [{ code: "bad-option", step: null, field: "onFailure", message }];
}

function referencesIn(value: Returned): readonly Reference["$ref"][] {
  if (isReference(value)) return [value.$ref];
  return Object.values(value).flatMap((part: Returned) => referencesIn(part));
}

interface Made {
  readonly plan: Plan;
  readonly parsedInput: Json;
}

const isDoubt = ({ code }: Problem) => code === BY_DEFAULT;

export type PlanOutcome =
  | ({ readonly ok: true } & Made)
  /** `doubted` is the plan to use if the service accepts the input despite the problems. */
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly doubted?: Made };

export function makePlan(draft: Draft, context: PlanContext): PlanOutcome {
  const stepwise = planStepwise(draft, context);
  for (;;) {
    const { done, value } = stepwise.next();
    if (done === true) return value;
  }
}

export function* planStepwise(draft: Draft, context: PlanContext): Generator<void, PlanOutcome> {
  const problems: Problem[] = [...draft.problems];
  const facts = new Map<string, StepFacts>();
  const steps = yield* planSteps(draft, context, { problems, facts });
  const returns = completeReturns(draft.returns, facts, problems);
  const { onFailure, groups } = draft;
  if (onFailure !== null) problems.push(...checkReturnedQuorum(onFailure, returns));
  const wrong = { ok: false as const, problems: inStepOrder(problems, draft) };
  if (!problems.every(isDoubt)) return wrong;
  const plan: Plan = {
    version: 1,
    pipeline: draft.pipeline,
    steps,
    returns,
    ...(onFailure !== null && { onFailure }),
    ...(Object.keys(groups).length > 0 && { groups }),
  };
  const result = { plan, parsedInput: draft.parsedInput };
  return problems.length === 0 ? { ok: true, ...result } : { ...wrong, doubted: result };
}

interface Found {
  readonly problems: Problem[];
  readonly facts: Pick<Map<string, StepFacts>, "get" | "set">;
  /**
   * The steps of the surrounding run, if the plan is for an expansion. The expansion's steps can refer to the input
   * fields of these steps.
   */
  readonly around?: readonly PlanStep[];
}

function* planSteps(
  draft: Draft,
  context: PlanContext,
  { problems, facts, around = [] }: Found,
): Generator<void, readonly PlanStep[]> {
  const keyOf = ({ step, field }: Pick<Problem, "step" | "field">) => `${step} ${field}`;
  const faulty = new Set(draft.problems.filter(({ field }) => field !== null).map(keyOf));
  const ofTakes = new Set<string>();
  const out = new OptionsOut(draft, context.out);
  const rewritten = rewrittenIn(draft);
  const steps: PlanStep[] = [];
  const inputs = new Map<string, DraftJson>();
  for (const { path, ...step } of around) if ("input" in step) inputs.set(path, draftOf(step.input));
  for (const each of draft.steps) {
    yield;
    if (out.has(each.path)) continue;
    const drafted = withInputs(out.without(each), (path) => inputs.get(path));
    if ("input" in drafted) inputs.set(drafted.path, drafted.input);
    const planning: Planning = {
      ...context,
      facts: (path) => facts.get(path),
      report(code, field, message, more) {
        const takes = takesOf(drafted) ?? rewritten.find((path) => drafted.path.startsWith(`${path}/`)) ?? null;
        const problem = { code, step: takes ?? drafted.path, field, message, ...more };
        // The value of this field could not be recorded, so a problem with it is already known.
        if (faulty.has(keyOf(problem))) return;
        if (out.take(problem, drafted.path)) return;
        const identity = `${code} ${keyOf(problem)}`;
        if (takes !== null && ofTakes.has(identity)) return;
        if (takes !== null) ofTakes.add(identity);
        problems.push(...out.before(problem, drafted.path), problem);
      },
    };
    const planned = kindOf(drafted).plan(drafted, planning);
    facts.set(drafted.path, "step" in planned ? factsOf(planned.step, planning.facts) : planned.facts);
    if (!("step" in planned)) continue;
    checkQuorum(planned.step, planning);
    steps.push(planned.step);
  }
  return steps.filter(({ path }) => !out.has(path));
}

function draftOf(input: Json): DraftJson {
  if (typeof input !== "object" || input === null) return input;
  if (isReference(input)) {
    const { step, as, output, at } = input.$ref;
    const from = as === "value" ? "value" : output === "chosen" ? "single" : output;
    return { $ref: { step, output: from, ...(at !== undefined && { at }) } };
  }
  if (Array.isArray(input)) return input.map(draftOf);
  return mapRecord(input as { readonly [key: string]: Json }, draftOf);
}

/**
 * Returns the path shared by all takes of a job; null if the step is not a take. Problems that all takes have in common
 * are reported once, for this path.
 */
function takesOf(step: DraftStep): string | null {
  const isTake = "seed" in step && step.seed !== null;
  return isTake ? step.path.slice(0, step.path.lastIndexOf("/")) : null;
}

export function inStepOrder(problems: readonly Problem[], { steps, parts }: Draft): readonly Problem[] {
  const position = new Map(steps.map(({ path }, index) => [path, index]));
  for (const [path, before] of parts ?? []) if (!position.has(path)) position.set(path, before - 0.5);
  const positionOf = ({ step }: Problem) => (step === null ? -1 : (position.get(step) ?? -1));
  return problems.toSorted((a, b) => positionOf(a) - positionOf(b));
}

function completeReturns(
  returns: DraftJson,
  facts: ReadonlyMap<string, StepFacts>,
  problems: Problem[],
): Plan["returns"] {
  const complete = (value: DraftJson, field: string): Returned => {
    if (typeof value !== "object" || value === null) return {};
    if (Array.isArray(value)) return value.map((item, index) => complete(item, `${field}[${index}]`));
    if ("$ref" in value) return completeOne((value as DraftReference).$ref, field);
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, complete(item, `${field}.${name}`)]));
  };
  const completeOne = (ref: DraftReference["$ref"], field: string): Returned => {
    const source = facts.get(ref.step);
    if (source === undefined) return {};
    const report = (code: string, message: string) => void problems.push({ code, step: null, field, message });
    return { $ref: completeRef(ref, source, report) };
  };
  return complete(returns, "returns") as Plan["returns"];
}

export function filesOf(draft: Draft): readonly DraftFile[] {
  const found: DraftFile[] = [];
  for (const step of draft.steps) for (const file of kindOf(step).files(step)) found.push(file);
  return found;
}

export function modelsOf(draft: Draft): readonly string[] {
  const found = new Set<string>();
  for (const step of draft.steps) for (const model of kindOf(step).models(step)) found.add(model);
  return [...found];
}

interface Grown {
  readonly steps: readonly PlanStep[];
  readonly returns: readonly Reference[];
  readonly groups: NonNullable<Plan["groups"]>;
}

export type ExpansionOutcome =
  | ({ readonly ok: true } & Grown)
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly doubted?: Grown };

export function* planExpansionStepwise(
  step: ExpandingStep,
  drafted: Draft,
  context: PlanContext & { readonly plan: Plan },
): Generator<void, ExpansionOutcome> {
  const { plan } = context;
  const around = surroundingsOf(plan);
  const inner = new Map<string, StepFacts>();
  const factsOfStep = (path: string) => inner.get(path) ?? around.facts.get(path);
  const facts = { get: factsOfStep, set: (path: string, found: StepFacts) => inner.set(path, found) };
  const problems: Problem[] = [...drafted.problems];
  const report: Planning["report"] = (code, field, message, more) =>
    void problems.push({ code, step: step.path, field, message, ...more });
  if (drafted.steps.length > step.maxSteps) {
    report(
      "too-many-steps",
      null,
      `adds ${drafted.steps.length} steps, but maxSteps is ${step.maxSteps}; raise maxSteps`,
    );
  }
  const steps = yield* planSteps(drafted, context, { problems, facts, around: plan.steps });
  const planning: Planning = { ...context, facts: factsOfStep, report };
  const isRead = around.readLocally.has(step.path);
  const returns = (drafted.returns as readonly DraftReference[]).map((given, index) => {
    return bindReturned(given, `returns[${index}]`, step, { planning, isRead });
  });
  problems.push(...circles(step, steps, returns, plan));
  const wrong = { ok: false as const, problems: inStepOrder(problems, drafted) };
  if (!problems.every(isDoubt)) return wrong;
  const group = step.maxCostMicros === null ? {} : { [step.path]: { maxCostMicros: step.maxCostMicros } };
  const grown = { steps, returns, groups: { ...drafted.groups, ...group } };
  return problems.length === 0 ? { ok: true, ...grown } : { ...wrong, doubted: grown };
}

interface Surroundings {
  readonly facts: ReadonlyMap<string, StepFacts>;
  readonly readLocally: ReadonlySet<string>;
}

const surroundings = new WeakMap<Plan, Surroundings>();

function surroundingsOf(plan: Plan): Surroundings {
  const before = surroundings.get(plan);
  if (before !== undefined) return before;
  const facts = new Map<string, StepFacts>();
  const readLocally = new Set<string>();
  const known = (path: string) => facts.get(path);
  for (const step of plan.steps) {
    facts.set(step.path, factsOf(step, known));
    const { readsFiles, uses } = traitsOf(step);
    if (readsFiles) for (const ref of uses) readLocally.add(ref.step);
  }
  const found = { facts, readLocally };
  surroundings.set(plan, found);
  return found;
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
      `${ref.step} keeps no copy (keep: false), but a local function reads its output; remove keep: false from ${ref.step}`,
    );
  });
  const isValue = source !== undefined && isValueRef(given.$ref, source);
  const outcome: Yield | null = isValue ? "value" : (bound.$ref.kind ?? source?.yields ?? null);
  if (outcome === null) return bound;
  if (step.yields === null && outcome === "value") {
    report("expand-yields", field, `${given.$ref.step} yields a value; declare yields: "value" on the expand step`);
  }
  if (step.yields !== null && step.yields !== outcome) {
    report(
      "expand-yields",
      field,
      `${given.$ref.step} yields ${outcome}, but the expand step declares yields: "${step.yields}"`,
    );
  }
  return bound;
}

/** Reports cycles: a step of the expansion cannot use a step that is waiting for the expansion. */
function circles(
  { path }: ExpandingStep,
  steps: readonly PlanStep[],
  returns: readonly Reference[],
  plan: Plan,
): readonly Problem[] {
  const waits = waitersFor(path, plan);
  const problem = (needed: string) =>
    `uses ${needed}, which itself waits for ${path}; use only handles of steps added before ${path}`;
  const used = steps.flatMap((step) => step.needs.filter(waits).map((need) => [step.path, need] as const));
  const returned = returns.filter(({ $ref }) => waits($ref.step)).map(({ $ref }) => [path, $ref.step] as const);
  return [...used, ...returned].map(([step, needed]) => ({
    code: "cycle",
    step,
    field: null,
    message: problem(needed),
  }));
}

export function waitersFor(path: string, plan: Plan): (asked: string) => boolean {
  const others = new Set<string>();
  return (asked) => {
    const before = new Set([asked]);
    for (const waiter of before) {
      if (waiter === path) return true;
      for (const needed of stepNamed(plan, waiter)?.needs ?? []) if (!others.has(needed)) before.add(needed);
    }
    for (const waiter of before) others.add(waiter);
    return false;
  };
}

export function chatModelsOf({ steps }: Pick<Draft, "steps">): readonly string[] {
  return [...new Set(steps.flatMap((step) => (step.kind === "chat" ? [step.model] : [])))];
}

export function voicesNamedIn({ steps }: Draft): readonly { readonly model: string; readonly name: string }[] {
  const found = steps.flatMap((step) => {
    const name = step.kind === "job" ? voiceNameOf(step.input) : null;
    if (step.kind !== "job" || name === null) return [];
    return [[voiceKey(step.model, name), { model: step.model, name }] as const];
  });
  return [...new Map(found).values()];
}

export function withSeeds(plan: Plan, seeds: { readonly [step: string]: number }): Plan {
  if (Object.keys(seeds).length === 0) return plan;
  const steps = plan.steps.map((step) => {
    if (step.kind !== "job" || !Object.hasOwn(seeds, step.path)) return step;
    const input = { ...(step.input as { readonly [field: string]: Json }), seed: seeds[step.path]! };
    return { ...step, input, fingerprint: fingerprint({ kind: "job", model: step.model, input }) };
  });
  return { ...plan, steps };
}
