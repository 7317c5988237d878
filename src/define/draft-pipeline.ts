import type { Draft } from "../plan/draft.ts";
import { fingerprint } from "../plan/fingerprint.ts";
import { plainJson } from "../plan/plain-json.ts";
import type { Json, Problem } from "../plan/plan.ts";
import { fieldPath } from "./field-path.ts";
import { type Pipeline, record } from "./pipeline.ts";

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

/**
 * As {@link redraft}, with some fields of the input corrected: those are parsed as a new input is. Objects are merged
 * field by field, everything else is replaced.
 */
export function corrected(pipeline: Pipeline, parsedInput: Json, changes: Json): Drafted {
  const wanted = merged(parsedInput, changes);
  const parsed = parse(pipeline, wanted);
  // What was parsed already need not pass once more: a transform may have made something else of it.
  const own = "problems" in parsed ? parsed.problems.filter(({ field }) => isOf(changes, field)) : [];
  if (own.length > 0) return { draft: null, problems: own };
  const input = "problems" in parsed ? wanted : asBefore(parsed.value, parsedInput, changes);
  const recorded = record(pipeline, input);
  return { draft: { pipeline: pipeline.name, parsedInput: plainJson(input), ...recorded }, problems: [] };
}

/** Whether a problem is one of these fields, or of the input as a whole. */
function isOf(changes: Json, field: string | null): boolean {
  const name = /^input\.([^.[]+)/.exec(field ?? "")?.[1];
  return name === undefined || !isRecord(changes) || Object.hasOwn(changes, name);
}

function merged(before: Json, changes: Json): Json {
  if (!isRecord(before) || !isRecord(changes)) return changes;
  const entries = Object.entries(changes as { readonly [key: string]: Json });
  const own = before as { readonly [key: string]: Json };
  return {
    ...own,
    ...Object.fromEntries(
      entries.map(([key, value]) => [key, Object.hasOwn(own, key) ? merged(own[key]!, value) : value]),
    ),
  };
}

/** What parsing makes of a value, except where that is not what it was and was not changed: a transform is not done twice. */
function asBefore(now: unknown, before: Json, changes: Json = {}): unknown {
  if (fingerprint(plainJson(now)) === fingerprint(before)) return now;
  if (!isRecord(changes)) return now;
  if (!isRecord(now) || !isRecord(before)) return Object.keys(changes).length > 0 ? now : before;
  const entries = Object.entries(now);
  return Object.fromEntries(
    entries.map(([key, value]) => {
      if (!Object.hasOwn(before, key)) return [key, value];
      const change = Object.hasOwn(changes, key) ? (changes[key] as Json) : {};
      return [key, asBefore(value, before[key] as Json, change)];
    }),
  );
}

function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
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
    // By its name: the schema may come from another copy of zod.
    const isAsync = error instanceof Error && error.constructor.name === "$ZodAsyncError";
    const cure = isAsync ? "; refinements and transforms may not be async" : "";
    const message = `the input schema of ${pipeline.name} threw: ${said}${cure}`;
    return { problems: [{ code: "input", step: null, field: null, message }] };
  }
}
