import { outerPaths } from "./diff.ts";
import type { PickStep, SecondChoice } from "./kinds/pick.ts";
import type { Draft, DraftStep, Plan, PlanStep, Problem } from "./plan.ts";

export interface Option {
  readonly path: string;
  readonly choice: PickStep & { readonly second: SecondChoice };
  readonly at: number;
  readonly steps: readonly PlanStep[];
}

type Options = ReadonlyMap<string, Option>;

const NONE: Options = new Map();
const known = new WeakMap<readonly PlanStep[], Options>();

export function optionsIn({ steps }: Pick<Plan, "steps">): Options {
  const before = known.get(steps);
  if (before !== undefined) return before;
  const found = findOptions(steps);
  known.set(steps, found);
  return found;
}

function findOptions(steps: readonly PlanStep[]): Options {
  const found = new Map<string, Option & { readonly steps: PlanStep[] }>();
  for (const choice of steps) {
    if (!isSecondChoice(choice)) continue;
    for (const [at, path] of choice.second.options.entries()) found.set(path, { path, choice, at, steps: [] });
  }
  if (found.size === 0) return NONE;
  for (const step of steps) for (const around of outerPaths(step.path)) found.get(around)?.steps.push(step);
  return found;
}

export function isSecondChoice(step: PlanStep): step is Option["choice"] {
  return step.kind === "pick" && step.second !== undefined;
}

export function optionsAround(plan: Pick<Plan, "steps">, path: string): readonly Option[] {
  const options = optionsIn(plan);
  return options.size === 0 ? [] : outerPaths(path).flatMap((around) => options.get(around) ?? []);
}

export function optionBefore(plan: Pick<Plan, "steps">, { choice, at }: Option): Option | null {
  const before = choice.second.options[at - 1];
  return before === undefined ? null : (optionsIn(plan).get(before) ?? null);
}

export function hasNext({ choice, at }: Option): boolean {
  return at < choice.second.options.length - 1;
}

/**
 * Returns whether the next option starts if this one is late. False if the next option only repeats this one with a
 * rewritten prompt.
 */
export function givesWay(option: Option): boolean {
  return hasNext(option) && option.choice.second.rewrites !== true;
}

export const CANNOT_BE_MADE: ReadonlySet<string> = new Set(["retired-model", "unknown-model", "unsupported-model"]);

/** Collects the options to leave out of the plan, because their model cannot be used and another option follows. */
export class OptionsOut {
  readonly #reasons: Map<string, string>;
  readonly #followed: ReadonlySet<string>;
  readonly #before = new Map<string, readonly string[]>();
  readonly #problems = new Map<string, Problem>();

  constructor({ steps }: Pick<Draft, "steps">, known: ReadonlyMap<string, string> = new Map()) {
    this.#reasons = new Map(known);
    const choices = steps.flatMap((step) => (step.kind === "pick" ? (step.second ?? []) : []));
    this.#followed = new Set(choices.flatMap(({ options }) => options.slice(0, -1)));
    for (const { options } of choices) this.#before.set(options.at(-1) ?? "", options.slice(0, -1));
  }

  take(problem: Problem, step: string): boolean {
    if (this.#followed.size === 0 || !CANNOT_BE_MADE.has(problem.code)) return false;
    const option = outerPaths(step).find((around) => this.#followed.has(around));
    if (option === undefined) return false;
    if (!this.#reasons.has(option)) {
      this.#reasons.set(option, problem.message);
      this.#problems.set(option, problem);
    }
    return true;
  }

  /**
   * If this problem rules out the last option too, returns the problems that ruled out the earlier options. Later calls
   * do not return these problems again.
   */
  before({ code }: Problem, step: string): readonly Problem[] {
    if (!CANNOT_BE_MADE.has(code)) return [];
    const options = outerPaths(step).flatMap((around) => this.#before.get(around) ?? []);
    const found = options.flatMap((option) => this.#problems.get(option) ?? []);
    for (const option of options) this.#problems.delete(option);
    return found;
  }

  has(path: string): boolean {
    return this.#reasons.size > 0 && outerPaths(path).some((around) => this.#reasons.has(around));
  }

  without(step: DraftStep): DraftStep {
    if (this.#reasons.size === 0) return step;
    const after = step.after.filter((path) => !this.has(path));
    if (step.kind !== "pick" || step.second === null) return { ...step, after };
    const { among, second } = step;
    const isLeft = (_: unknown, index: number) => !this.#reasons.has(second.options[index]!);
    const out = second.options.flatMap((option) => {
      const reason = this.#reasons.get(option);
      return reason === undefined ? [] : [{ option, reason }];
    });
    return {
      ...step,
      after,
      among: among.filter(isLeft),
      second: { ...second, options: second.options.filter(isLeft), out },
    };
  }
}

export function rewrittenIn({ steps }: Pick<Draft, "steps">): readonly string[] {
  const picks = steps.filter((step) => step.kind === "pick" && step.second?.rewrites === true);
  return picks.map(({ path }) => path.slice(0, path.lastIndexOf("/"))).sort((a, b) => b.length - a.length);
}
