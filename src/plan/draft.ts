import type { Draft } from "../define/draft.ts";
import { fieldPath } from "../define/field-path.ts";
import type { LocalFunction } from "../define/local-function.ts";
import { type Pipeline, record } from "../define/pipeline.ts";
import { fingerprint } from "./fingerprint.ts";
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
 * Records a pipeline again with the input that a journal has of it. That one was parsed already: it is parsed once more
 * only for what JSON cannot hold (dates, say) and for what the schema fills in newly.
 */
export function redraft(pipeline: Pipeline, parsedInput: Json): Draft {
  const parsed = parse(pipeline, parsedInput);
  const input = "problems" in parsed ? parsedInput : asBefore(parsed.value, parsedInput);
  return { pipeline: pipeline.name, parsedInput, ...record(pipeline, input) };
}

/** What parsing makes of a value, except where that is not what it was: a transform is not done twice. */
function asBefore(now: unknown, before: Json): unknown {
  if (fingerprint(plainJson(now)) === fingerprint(before)) return now;
  if (!isRecord(now) || !isRecord(before)) return before;
  const entries = Object.entries(now);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, Object.hasOwn(before, key) ? asBefore(value, before[key] as Json) : value]),
  );
}

function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
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
