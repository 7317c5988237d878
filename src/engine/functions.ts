import type { Draft } from "../define/draft.ts";
import type { Pipeline } from "../define/index.ts";
import type { LocalFunction } from "../define/local-function.ts";
import { record } from "../define/pipeline.ts";
import type { RunState } from "../journal/state.ts";
import type { ExpandStep } from "../plan/plan.ts";
import { readiness } from "../run/resolve.ts";

/** The code of a run's local functions, found by the path of their step. */
export interface StepFunctions {
  /** Whether any code was given at all. */
  readonly given: boolean;
  /** What went wrong when it was looked through; null when nothing did. */
  readonly said: string | null;
  find(state: RunState, path: string): LocalFunction | null;
}

/** Without code: every step that needs some waits for whoever has it. */
export const noFunctions: StepFunctions = { given: false, said: null, find: () => null };

/** The functions that a draft brought along. */
export function draftFunctions(draft: Draft): StepFunctions {
  return new BoundFunctions(draft.functions ?? new Map(), draft.problems[0]?.message ?? null);
}

/** The functions of a pipeline, recorded again with the input that the journal has. The plan stays as it is. */
export function pipelineFunctions(pipeline: Pipeline, { planned }: RunState): StepFunctions {
  return draftFunctions({ ...record(pipeline, planned.input), pipeline: pipeline.name, parsedInput: planned.input });
}

class BoundFunctions implements StepFunctions {
  readonly given = true;
  readonly said: string | null;
  readonly #own: ReadonlyMap<string, LocalFunction>;
  /** Of expansions, by their path and value. */
  readonly #grown = new Map<string, ReadonlyMap<string, LocalFunction>>();

  constructor(own: ReadonlyMap<string, LocalFunction>, said: string | null) {
    this.#own = own;
    this.said = said;
  }

  find(state: RunState, path: string): LocalFunction | null {
    const own = this.#own.get(path);
    if (own !== undefined) return own;
    for (const step of state.planned.plan.steps) {
      if (step.kind !== "expand" || !path.startsWith(`${step.path}/`)) continue;
      const found = this.#within(state, step).get(path);
      if (found !== undefined) return found;
    }
    return null;
  }

  /** An expansion's functions exist only while its builder runs: it runs again, with the value that the journal has. */
  #within(state: RunState, step: ExpandStep): ReadonlyMap<string, LocalFunction> {
    const builder = this.find(state, step.path);
    const ready = readiness(state, step, step.on);
    if (builder?.kind !== "expand" || ready.ready !== "yes") return new Map();
    const key = JSON.stringify([step.path, ready.input]);
    const known = this.#grown.get(key) ?? builder.expand(ready.input).functions;
    this.#grown.set(key, known);
    return known;
  }
}
