import { isDeepStrictEqual } from "node:util";
import type { Pipeline } from "../../core/define/index.ts";
import { referencesOf } from "../../core/plan/index.ts";
import type { Json, Plan, PlanStep } from "../../core/plan/plan.ts";
import type { RunResult, Showrunner } from "../../index.ts";
import { valueAt } from "../field-report.ts";
import type { Migration } from "../migrate.ts";
import { camel } from "../names.ts";
import type { BodyReport, FieldEntry, MigrationReport, VerificationReport } from "../report/report.ts";

export interface VerifyOptions {
  /** The pipeline that the generated source exports. */
  readonly pipeline: Pipeline;
  /** The pipeline's input, with a value for every field. */
  readonly input: unknown;
  /** Folder for the run's output files. */
  readonly outDir: string;
  /** The run's id. Default: `verify`. */
  readonly id?: string | undefined;
  /** Signal that stops the run. The migration is then reported as not verified. */
  readonly signal?: AbortSignal | undefined;
  /** Called whenever a step finishes. */
  readonly onProgress?: ((progress: { readonly done: number; readonly total: number }) => void) | undefined;
}

type Kind = VerificationReport["expected"][number]["kind"];

/**
 * Runs the migrated pipeline with `runner`, whose service must charge nothing, and compares the result with the v2
 * bodies.
 */
export async function verifyMigration(
  migration: Migration,
  runner: Pick<Showrunner, "plan" | "run">,
  options: VerifyOptions,
): Promise<Migration> {
  const { pipeline, outDir, id = "verify", signal, onProgress } = options;
  const verified = (...found: readonly [status: string, outputs: unknown, differences: readonly string[]]) => {
    return { ...migration, report: { ...migration.report, verification: compare(migration.report, ...found) } };
  };
  const planned = await runner.plan(pipeline, options.input);
  if (!planned.ok) {
    const differences = planned.problems.map(({ message }) => `the pipeline cannot be planned: ${message}`);
    return verified("refused", null, differences);
  }
  const run = await runner.run(pipeline, options.input, { maxUnquoted: "1000000", outDir, id, signal });
  let done = 0;
  for await (const update of run.events()) {
    const isStepEnd = "event" in update && update.event.type === "step.finished";
    if (isStepEnd) onProgress?.({ done: ++done, total: migration.report.steps.length });
  }
  const { status, outputs, report } = await run.result();
  return verified(status, outputs, [...failuresOf(report.steps), ...workDifferences(migration.report, planned.plan)]);
}

function failuresOf(steps: RunResult["report"]["steps"]): readonly string[] {
  return steps.flatMap(({ path, status, reason }) => {
    if (status !== "failed" && status !== "partial") return [];
    return [`step ${path} ${status === "failed" ? "failed" : "partly failed"}: ${reason ?? "no reason was given"}`];
  });
}

function compare(
  report: MigrationReport,
  status: string,
  outputs: unknown,
  differences: readonly string[],
): VerificationReport {
  const found = kindsByStep(outputs);
  const migrated = report.bodies.filter((body) => body.status === "migrated");
  const missing = migrated.flatMap(({ at, makes, outputs: steps }): readonly string[] => {
    const kinds = steps.map((step) => found.get(camel(step)) ?? "nothing");
    const right = kinds.filter((kind) => kind === makes.kind).length;
    if (right === makes.count && kinds.length === makes.count) return [];
    const converted = kinds.every((kind) => kind === "nothing") ? "nothing" : kinds.join(", ");
    return [`${at}: v2 makes ${makes.count} × ${makes.kind}; ${steps.join(", ") || "the pipeline"} made ${converted}`];
  });
  const isDone = status === "succeeded";
  const open = report.bodies
    .filter((body) => body.status === "open")
    .map(({ at, fields }) => `${at} was not migrated: ${fields[0]?.why ?? "no v3 model supports it"}`);
  const all = [...(isDone ? [] : [`the run ended with status ${status}`]), ...missing, ...differences, ...open];
  return {
    ok: isDone && all.length === 0,
    status,
    expected: tally(migrated.flatMap(({ makes }) => Array.from({ length: makes.count }, () => makes.kind))),
    found: tally([...found.values()].filter((kind) => kind !== "nothing")),
    differences: all,
    uncovered: report.bodies.filter(({ status: is }) => is === "open" || is === "refused").map(({ at }) => at),
  };
}

function kindsByStep(outputs: unknown): ReadonlyMap<string, Kind | "nothing"> {
  const entries = typeof outputs === "object" && outputs !== null ? Object.entries(outputs) : [];
  return new Map(entries.map(([name, value]) => [name, kindOf(value)]));
}

/** Returns the kind of an output: `voice` if it has a voice id, otherwise according to its content type. */
function kindOf(output: unknown): Kind | "nothing" {
  if (typeof output !== "object" || output === null) return "nothing";
  if ("voiceId" in output && typeof output.voiceId === "string") return "voice";
  const type = "contentType" in output ? String(output.contentType) : "";
  return (["image", "video", "audio"] as const).find((kind) => type.startsWith(`${kind}/`)) ?? "nothing";
}

function tally(kinds: readonly (Kind | "nothing")[]): VerificationReport["expected"] {
  return (["image", "video", "audio", "voice"] as const)
    .map((kind) => ({ kind, count: kinds.filter((one) => one === kind).length }))
    .filter(({ count }) => count > 0);
}

export function workDifferences(report: MigrationReport, plan: Plan): readonly string[] {
  return report.bodies
    .filter(({ status }) => status === "migrated")
    .flatMap((body) => body.fields.flatMap((entry) => differenceOf(body, entry, plan)));
}

function differenceOf({ at, outputs }: BodyReport, entry: FieldEntry, plan: Plan): readonly string[] {
  const { field, to, why } = entry;
  if (entry.isLost) return [`${at}: no step uses ${field} (${why ?? "reason unknown"})`];
  const [, step, target] = /^([^:]+): (.+)$/.exec(to ?? "") ?? [];
  if (step === undefined || target === undefined) return [];
  const steps = stepsNamed(plan, step, outputs);
  if (steps.length === 0) return [`${at}: ${field} belongs in step ${step}, but the pipeline has no such step`];
  return steps.flatMap((found, index) => {
    const wrong = target === "model" ? wrongModel(found, entry) : wrongValue(plan, found, target, entry, index);
    return wrong === null ? [] : [`${at}: ${field} of step ${found.path} ${wrong}`];
  });
}

function stepsNamed(plan: Plan, name: string, outputs: readonly string[]): readonly PlanStep[] {
  const own = plan.steps.filter(({ path }) => path === name);
  if (own.length > 0) return own;
  return plan.steps.filter(({ path }) => outputs.includes(path) && path.startsWith(`${name}-take-`));
}

function wrongModel(step: PlanStep, { newValue }: FieldEntry): string | null {
  if (typeof newValue !== "string" || !("model" in step)) return null;
  const [, id = newValue, quality] = /^(.*), quality (.*)$/.exec(newValue) ?? [];
  if (step.model !== id) return `is ${step.model}, but the report says ${id}`;
  const sent = quality === undefined ? undefined : sentAt(step, "quality");
  return quality === undefined || sent === quality ? null : `has quality ${sent}, but the report says ${quality}`;
}

function wrongValue(plan: Plan, step: PlanStep, target: string, entry: FieldEntry, index: number): string | null {
  const sent = sentAt(step, target);
  const expected = entry.outcome === "carried" || entry.outcome === "renamed" ? entry.value : entry.newValue;
  if (expected === null) return null;
  if (sent === undefined) return `is missing in ${target}`;
  if (isDeepStrictEqual(sent, expected)) return null;
  // The seeds of a batch are a list with one seed for each step.
  if (Array.isArray(expected) && isDeepStrictEqual(sent, expected[index])) return null;
  if (typeof expected === "string") {
    const [, converted] = /^output of (.+)$/.exec(expected) ?? [];
    if (converted !== undefined && sourcesOf(plan, sent).has(converted)) return null;
    const [, file] = /^file input (.+)$/.exec(expected) ?? [];
    if (file !== undefined && [...sourcesOf(plan, sent)].some((path) => camel(path) === file)) return null;
    // An input supplied at run time matches any value.
    if (/^input /.test(expected) || expected.includes("${")) return null;
  }
  return `is ${JSON.stringify(sent)} in ${target}, but should be ${JSON.stringify(expected)}`;
}

function sourcesOf(plan: Plan, value: Json): ReadonlySet<string> {
  return new Set(
    referencesOf(value).flatMap(({ step: path }) => {
      const step = plan.steps.find((one) => one.path === path);
      return step?.kind === "task" ? [path, ...sourcesOf(plan, step.input)] : [path];
    }),
  );
}

function sentAt(step: PlanStep, target: string): Json | undefined {
  const input = "input" in step ? step.input : undefined;
  return valueAt(input, target.split(/[.[\]]+/).filter(Boolean)) as Json | undefined;
}
