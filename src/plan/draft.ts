import type { Draft } from "../define/draft.ts";
import { fieldPath } from "../define/field-path.ts";
import type { LocalFunction } from "../define/local-function.ts";
import { type Pipeline, record } from "../define/pipeline.ts";
import { kindOf } from "./kinds/index.ts";
import type { DraftFile } from "./kinds/kind.ts";
import { plainJson } from "./plain-json.ts";
import type { Json, Problem } from "./plan.ts";

/** A draft, or the problems of the input. Exactly one of them: there are problems only when there is no draft. */
export interface Drafted {
  readonly draft: Draft | null;
  readonly problems: Problem[];
}

/** Parses the input and runs `build` once. Never throws for what the pipeline or its input does wrong. */
export function draft(pipeline: Pipeline, input: unknown): Drafted {
  const parsed = parse(pipeline, input);
  if ("problems" in parsed) return { draft: null, problems: parsed.problems };
  const recorded = record(pipeline, parsed.value);
  const parsedInput = plainJson(parsed.value);
  return { draft: { pipeline: pipeline.name, parsedInput, ...recorded }, problems: [] };
}

/**
 * Records a pipeline again with the input that a journal has of it, to find its functions and its mistakes. Parsing is
 * not repeated; where `build` cannot do with JSON (dates, say), the input is parsed after all.
 */
export function redraft(pipeline: Pipeline, parsedInput: Json): Draft {
  const again = { pipeline: pipeline.name, parsedInput };
  const recorded = record(pipeline, parsedInput);
  if (!recorded.problems.some(({ code }) => code === "build")) return { ...again, ...recorded };
  const parsed = parse(pipeline, parsedInput);
  return { ...again, ...("problems" in parsed ? recorded : record(pipeline, parsed.value)) };
}

/** Files that the draft uploads; whoever plans measures them. */
export function filesOf(draft: Draft): readonly DraftFile[] {
  return draft.steps.flatMap((step) => kindOf(step).files(step));
}

/** Ids of the models that the draft uses, each once. */
export function modelsOf(draft: Draft): readonly string[] {
  return [...new Set(draft.steps.flatMap((step) => kindOf(step).models(step)))];
}

/** Code that a run of the draft needs, by the path of its step. */
export function functionsOf(draft: Draft): ReadonlyMap<string, LocalFunction> {
  return draft.functions;
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
