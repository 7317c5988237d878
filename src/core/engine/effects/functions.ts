import { type Pipeline, redraft } from "../../define/index.ts";
import { planStep, type RunState } from "../../journal/state.ts";
import { type Draft, traitsOf } from "../../plan/index.ts";
import { type LocalFunction, type ModelOfKind, type PlanStep, type Reference, stepNamed } from "../../plan/plan.ts";
import { readiness } from "../../run/readiness.ts";
import type { Substitutes } from "../service/rehearsal.ts";

export type Found = { readonly code: LocalFunction } | { readonly missing: string };

export interface StepFunctions {
  find(state: RunState, path: string): Found;
}

/**
 * Returns the functions of the run's steps. Runs the pipeline's code again unless `code` was made from the run's own
 * input.
 */
export function functionsFor(
  { planned }: RunState,
  given: { readonly code?: Code | undefined; readonly pipeline?: Pipeline | undefined },
): StepFunctions {
  const { code, pipeline } = given;
  if (code?.parsedInput === planned.input) return new BoundFunctions(code);
  return pipeline === undefined ? noFunctions : new BoundFunctions(codeOf(redraft(pipeline, planned.input)));
}

export function withSubstitutes(functions: StepFunctions, substitutes: Substitutes | null): StepFunctions {
  if (substitutes === null) return functions;
  return {
    find(state, path) {
      const found = functions.find(state, path);
      if (!("code" in found && "model" in found.code)) return found;
      const { kind, model } = found.code;
      const substitute = substitutes[kind];
      return { code: { kind, model: substitute(model as never, planStep(state, path) as never) } as LocalFunction };
    },
  };
}

export type Code = Pick<Draft, "functions" | "problems" | "parsedInput">;

export function codeOf({ functions, problems, parsedInput }: Draft): Code {
  return { functions, problems, parsedInput };
}

const noFunctions: StepFunctions = {
  find: (_state, path) => ({ missing: `${path} needs the pipeline's code, but no pipeline was passed` }),
};

class BoundFunctions implements StepFunctions {
  readonly #code: Code;
  readonly #grown = new Map<string, Code>();

  constructor(code: Code) {
    this.#code = code;
  }

  find(state: RunState, path: string): Found {
    for (const { functions } of this.#code.functions.has(path) ? [this.#code] : this.#grownFor(state, path)) {
      const code = functions.get(path);
      if (code === undefined) continue;
      const changed = otherVersion(state, code, path);
      return changed === null ? { code } : { missing: changed };
    }
    const [problem] = this.#code.problems;
    const why = problem === undefined ? "" : ` (${problem.message})`;
    return { missing: `the given pipeline has no function for ${path}${why}` };
  }

  *#grownFor(state: RunState, path: string): Iterable<Code> {
    for (const step of state.planned.plan.steps) {
      const { expansion } = traitsOf(step);
      if (expansion === null || !path.startsWith(`${step.path}/`)) continue;
      const grown = this.#grow(state, step, expansion.on);
      if (grown !== null) yield grown;
    }
  }

  #grow(state: RunState, step: PlanStep, on: Reference): Code | null {
    const builder = this.find(state, step.path);
    const ready = readiness(state, step, on);
    if (!("code" in builder) || builder.code.kind !== "expand" || ready.ready !== "yes") return null;
    const key = JSON.stringify([step.path, ready.input]);
    const known = this.#grown.get(key) ?? codeOf(builder.code.expand(ready.input));
    this.#grown.set(key, known);
    return known;
  }
}

function otherVersion({ planned }: RunState, code: LocalFunction, path: string): string | null {
  if ("model" in code) return otherModel(stepNamed(planned.plan, path), code.model);
  if (!("version" in code)) return null;
  const { version: is } = code;
  const plan = stepNamed(planned.plan, path);
  const was = plan !== undefined && "version" in plan ? plan.version : null;
  if (was === is) return null;
  const before = was === null ? "without a function" : `with version ${was} of its function`;
  return `${path} was planned ${before}, but the code now has version ${is}; accept the changes to run the new version`;
}

function otherModel(plan: PlanStep | undefined, { provider, modelId }: ModelOfKind[keyof ModelOfKind]): string | null {
  const is = `${provider}:${modelId}`;
  if (plan === undefined || !("model" in plan) || plan.model === is) return null;
  return `${plan.path} was planned with ${plan.model}, but the code now uses ${is}; accept the changes to use the new model`;
}
