import { z } from "zod";
import { type Builder, draft, pipeline, type Returns } from "../../../../src/core/define/index.ts";
import { type Draft, makePlan, type PlanContext, planExpansionStepwise } from "../../../../src/core/plan/index.ts";
import type { ExpandStep } from "../../../../src/core/plan/kinds/expand.ts";
import type { FileFacts, Json, Plan, PlanStep, Problem } from "../../../../src/core/plan/plan.ts";
import { builtInCatalog } from "../../../support/built-in-catalog.ts";

const catalog = builtInCatalog();
const facts = (contentType: string, sizeBytes = 9): FileFacts => ({
  ...{ path: "/somewhere", sha256: "a".repeat(64), sizeBytes, contentType },
});

/** The context for plans in these tests: the local service's models, and some files. */
export const context: PlanContext = {
  catalog,
  files: new Map<string, FileFacts | { readonly error: string }>([
    ["a.wav", facts("audio/wav")],
    ["a.png", facts("image/png")],
    ["large.png", facts("image/png", 20_000_000)],
    ["no-ending", facts("image/png")],
    ["text.png", facts("application/octet-stream")],
    ["gone.png", { error: "gone.png does not exist" }],
  ]),
};

export interface Tried {
  readonly draft: Draft;
  /** The plan; null if there are problems. */
  readonly plan: Plan | null;
  readonly problems: readonly Problem[];
  /** Each problem as `code step field`. */
  readonly told: readonly string[];
  /** Returns a step of the plan. */
  step(path: string): PlanStep;
}

/** Plans a pipeline with this `build` function. */
export function planned(build: (b: Builder<unknown>) => unknown, definition: object = {}): Tried {
  const made = pipeline("p", { input: z.unknown(), build: build as () => Returns, ...definition });
  const { draft: drafted } = draft(made, {});
  const outcome = makePlan(drafted!, context);
  const problems = outcome.ok ? [] : outcome.problems;
  const plan = outcome.ok ? outcome.plan : null;
  return {
    ...{ draft: drafted!, plan, problems, told: told(problems) },
    step(path) {
      const found = plan?.steps.find((step) => step.path === path);
      if (found === undefined) throw new Error(`no step ${path}; problems: ${JSON.stringify(problems)}`);
      return found;
    },
  };
}

export function told(problems: readonly Problem[]): readonly string[] {
  return problems.map(({ code, step, field }) => `${code} ${step} ${field}`);
}

/** Plans the expansion of a step for a value. */
export function expanded(tried: Tried, path: string, value: Json) {
  const code = tried.draft.functions.get(path);
  if (code?.kind !== "expand") throw new Error(`${path} has no function`);
  const step = tried.step(path) as ExpandStep;
  const stepwise = planExpansionStepwise(step, code.expand(value), { ...context, plan: tried.plan! });
  for (;;) {
    const next = stepwise.next();
    if (next.done === true) return next.value;
  }
}
