import type { DraftJson, DraftStep } from "../define/draft.ts";
import type { MediaKind } from "../define/media.ts";
import { type Pipeline, record } from "../define/pipeline.ts";
import { fieldPath } from "./field-path.ts";
import { kindOf } from "./kinds/index.ts";
import { plainJson } from "./plain-json.ts";
import type { Json, Problem } from "./plan.ts";

/** What a pipeline says for one input, not yet held against files and models. */
export interface Draft {
  readonly pipeline: string;
  readonly steps: readonly DraftStep[];
  readonly returns: DraftJson;
  readonly parsedInput: Json;
  /** Mistakes in what the pipeline says. {@link makePlan} reports them together with its own. */
  readonly problems: readonly Problem[];
}

/** A draft, or the problems of the input. Exactly one of them: there are problems only when there is no draft. */
export interface Drafted {
  readonly draft: Draft | null;
  readonly problems: Problem[];
}

/** Parses the input and runs `build` once. Never throws for what the pipeline or its input does wrong. */
export function draft(pipeline: Pipeline, input: unknown): Drafted {
  const parsed = parse(pipeline, input);
  if ("problems" in parsed) return { draft: null, problems: parsed.problems };
  const { steps, returns, problems } = record(pipeline, parsed.value);
  const parsedInput = plainJson(parsed.value);
  return { draft: { pipeline: pipeline.name, steps, returns, parsedInput, problems }, problems: [] };
}

/** Local files that the draft uploads; whoever plans measures them. */
export function filesOf(draft: Draft): readonly { path: string; kind: MediaKind; step: string }[] {
  return draft.steps.flatMap((step) => kindOf(step).files(step));
}

/** Ids of the models that the draft uses, each once. */
export function modelsOf(draft: Draft): readonly string[] {
  return [...new Set(draft.steps.flatMap((step) => kindOf(step).models(step)))];
}

function parse(pipeline: Pipeline, input: unknown): { readonly value: unknown } | { readonly problems: Problem[] } {
  try {
    const parsed = pipeline.input.safeParse(input);
    if (parsed.success) return { value: parsed.data };
    const problems = parsed.error.issues.map(({ path, message }): Problem => {
      return { code: "input", step: null, field: fieldPath("input", path), message };
    });
    return { problems };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const message = `the input schema of ${pipeline.name} threw: ${said}; refinements and transforms may not be async`;
    return { problems: [{ code: "input", step: null, field: null, message }] };
  }
}
