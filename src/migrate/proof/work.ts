import { isDeepStrictEqual } from "node:util";
import { isReference } from "../../plan/index.ts";
import type { Json, Plan, PlanStep, Reference } from "../../plan/plan.ts";
import { camel } from "../names.ts";
import type { BodyReport, FieldEntry, MigrationReport } from "../report/report.ts";

/**
 * Differences between the plan and the work of the v2 bodies: given values that are not migrated, and values that match
 * neither v2 nor the report. Each names body, field and step.
 */
export function workDifferences(report: MigrationReport, plan: Plan): readonly string[] {
  return report.bodies
    .filter(({ status }) => status === "migrated")
    .flatMap((body) => body.fields.flatMap((entry) => differenceOf(body, entry, plan)));
}

function differenceOf({ at, outputs }: BodyReport, entry: FieldEntry, plan: Plan): readonly string[] {
  const { field, to, why } = entry;
  if (entry.isLost) return [`${at}: ${field} arrives in no step (${why ?? "no reason is known"})`];
  const [, step, place] = /^([^:]+): (.+)$/.exec(to ?? "") ?? [];
  if (step === undefined || place === undefined) return [];
  const steps = stepsNamed(plan, step, outputs);
  if (steps.length === 0) return [`${at}: ${field} should arrive in step ${step}, which the pipeline does not have`];
  return steps.flatMap((found, index) => {
    const wrong = place === "model" ? wrongModel(found, entry) : wrongValue(plan, found, place, entry, index);
    return wrong === null ? [] : [`${at}: ${field} of step ${found.path} ${wrong}`];
  });
}

/** A step, or the variations of a batch. */
function stepsNamed(plan: Plan, name: string, outputs: readonly string[]): readonly PlanStep[] {
  const own = plan.steps.filter(({ path }) => path === name);
  if (own.length > 0) return own;
  return plan.steps.filter(({ path }) => outputs.includes(path) && path.startsWith(`${name}-take-`));
}

function wrongModel(step: PlanStep, { newValue }: FieldEntry): string | null {
  if (typeof newValue !== "string" || !("model" in step)) return null;
  const [, id = newValue, quality] = /^(.*), quality (.*)$/.exec(newValue) ?? [];
  if (step.model !== id) return `runs on ${step.model}, and the report says ${id}`;
  const sent = quality === undefined ? undefined : valueAt(step, "quality");
  return quality === undefined || sent === quality ? null : `has quality ${sent}, and the report says ${quality}`;
}

function wrongValue(plan: Plan, step: PlanStep, place: string, entry: FieldEntry, index: number): string | null {
  const sent = valueAt(step, place);
  const expected = entry.outcome === "carried" || entry.outcome === "renamed" ? entry.value : entry.newValue;
  if (expected === null) return null;
  if (sent === undefined) return `is missing as ${place}`;
  if (isDeepStrictEqual(sent, expected)) return null;
  // The seeds of a batch: one per step.
  if (Array.isArray(expected) && isDeepStrictEqual(sent, expected[index])) return null;
  if (typeof expected === "string") {
    const [, converted] = /^output of (.+)$/.exec(expected) ?? [];
    if (converted !== undefined && sourcesOf(plan, sent).has(converted)) return null;
    const [, file] = /^file input (.+)$/.exec(expected) ?? [];
    if (file !== undefined && [...sourcesOf(plan, sent)].some((path) => camel(path) === file)) return null;
    // An input supplied at run time matches any value here.
    if (/^input /.test(expected) || expected.includes("${")) return null;
  }
  return `is ${JSON.stringify(sent)} as ${place}, and should be ${JSON.stringify(expected)}`;
}

/** Step paths that a value uses, followed through local tasks to their sources. */
function sourcesOf(plan: Plan, value: Json): ReadonlySet<string> {
  return new Set(
    referencesIn(value).flatMap((path) => {
      const step = plan.steps.find((one) => one.path === path);
      return step?.kind === "task" ? [path, ...sourcesOf(plan, step.input)] : [path];
    }),
  );
}

function referencesIn(value: Json): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  if (isReference(value)) return [(value as Reference).$ref.step];
  return Object.values(value).flatMap(referencesIn);
}

/** The value at a path such as `multi_prompt[0].prompt` of a step's input; undefined when there is none. */
function valueAt(step: PlanStep, place: string): Json | undefined {
  let at: unknown = "input" in step ? step.input : undefined;
  for (const part of place.split(/[.[\]]+/).filter(Boolean)) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as { readonly [key: string]: unknown })[part];
  }
  return at as Json | undefined;
}
