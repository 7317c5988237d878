import { type Combination, combinationTable } from "../../core/catalog/index.ts";
import type { FieldProblem } from "../../core/plan/index.ts";
import type { Json } from "../../core/plan/plan.ts";
import { type Expression, json, sampleOf, shown } from "../expression.ts";
import type { FieldView } from "../models/view.ts";
import { coerce, linesOf } from "./coerce.ts";
import type { Job } from "./job.ts";

export interface Defaults {
  readonly prefix: string;
  readonly values: { readonly [field: string]: Json };
}

const MAX_ROUNDS = 12;

/**
 * Changes the input until it fits the schema. Adds a decision for each omitted field, and returns the remaining
 * problems.
 */
export function fitToSchema(job: Job, defaults: Defaults): readonly FieldProblem[] {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const problems = problemsOf(job);
    const [problem] = problems;
    if (problem === undefined) break;
    const helped =
      problems.some((one) => one.code === "required" && supply(job, one, defaults)) ||
      (problems.some(isOfTable) && chooseRow(job, defaults)) ||
      (problems.some(isOfTier) && findTier(job, defaults)) ||
      problems.some((one) => leaveOut(job, one));
    if (!helped) return problems;
  }
  reportLevelOfSlug(job, defaults);
  return problemsOf(job);
}

function chooseRow(job: Job, defaults: Defaults): boolean {
  const missing = fitToTable(job, defaults.prefix);
  for (const name of missing ?? []) {
    supply(job, { code: "required", field: `input.${name}`, message: "" }, defaults, true);
  }
  return missing !== null;
}

function problemsOf(job: Job, input: Job["input"] = job.input): readonly FieldProblem[] {
  const { context, view } = job;
  const samples = [...input].map(([name, value]) => {
    const field = view.fields.get(name);
    const sample = sampleOf(value, field?.takes.what === "voice" ? "voice" : "media");
    return [name, sample === "supplied" ? (field?.values?.[0] ?? sample) : sample] as const;
  });
  return context.options.catalog.check(view.model, Object.fromEntries(samples));
}

function topOf({ field }: FieldProblem): string | null {
  return /^input\.([^.[]+)/.exec(field)?.[1] ?? null;
}

/**
 * Fills in the missing field that `problem` reports. Returns false if it cannot. Set `isOfRow` if the field is required
 * by the chosen row of the model's combination table.
 */
function supply(job: Job, problem: FieldProblem, { prefix, values }: Defaults, isOfRow = false): boolean {
  const name = topOf(problem);
  const field = name === null ? undefined : job.view.fields.get(name);
  if (field === undefined || job.input.has(field.name) || problem.field !== `input.${field.name}`) return false;
  const { takes } = field;
  const at = `${prefix}${field.name}`;
  const needed = `${job.view.id} requires ${field.name}, which is missing from the body`;
  // If only a quality level requires a resolution, both are chosen together.
  if (TIER.includes(field.name) && !field.isRequired && !isOfRow) return false;
  if (takes.what === "media") {
    // A frame that requires another frame is omitted later. No input is added for the other frame.
    if (!field.isRequired && !isOfRow) return false;
    const [kind = "image"] = takes.kinds;
    const file = job.context.file(`${job.step} ${field.name}`, kind, `${job.step}-${field.name}`, needed);
    job.add(field, file, null);
    const choices = [`supply the ${kind} file`, "choose a model that does not require this field"];
    job.body.fieldReport.add(at, "decision", { to: job.to(field.name), newValue: shown(file), why: needed, choices });
    return true;
  }
  if (takes.what === "voice") return false;
  const preset = defaultOf(field, Object.hasOwn(values, field.name) ? values[field.name] : undefined);
  if (preset !== null) {
    const why = `${job.view.id} requires ${field.name}, unlike v2`;
    job.set(field.name, json(preset), null);
    const choices = (field.values ?? []).map(String);
    job.body.fieldReport.add(at, "defaulted", { to: job.to(field.name), newValue: preset, why, choices });
    return true;
  }
  if (!field.types.includes("string") && field.types.length > 0) return false;
  const text = job.textInput(field, needed);
  job.set(field.name, text, null);
  const choices = ["supply the text when the pipeline is run", "write the text into the source"];
  job.body.fieldReport.add(at, "decision", { to: job.to(field.name), newValue: shown(text), why: needed, choices });
  return true;
}

const USUAL: ReadonlyMap<string, Json> = new Map<string, Json>([
  ["aspect_ratio", "16:9"],
  ["resolution", "720p"],
  ["duration_ms", 5000],
]);

function defaultOf(field: FieldView, requested: Json | undefined): Json | null {
  if (field.takes.what !== "json") return null;
  if (field.preset !== undefined && requested === undefined) return field.preset;
  const usual = requested ?? USUAL.get(field.name);
  const fitted = usual === undefined ? null : coerce(field, usual);
  if (fitted?.fits) return fitted.value;
  if (field.values !== null) return field.values[0] ?? null;
  if (field.types.includes("boolean")) return false;
  if (field.types.includes("integer") || field.types.includes("number"))
    return Number.isFinite(field.min) ? field.min : 0;
  return null;
}

const TIER = ["quality", "resolution"];
const isOfTier = (problem: FieldProblem) => TIER.includes(topOf(problem) ?? "");

function findTier(job: Job, defaults: Defaults): boolean {
  const [quality, resolution] = TIER.map((name) => job.view.fields.get(name));
  if (quality?.values == null) return false;
  const before = TIER.map((name) => job.input.get(name));
  const put = (values: readonly (Expression | undefined)[]) =>
    TIER.forEach((name, index) => {
      const value = values[index];
      if (value === undefined) job.input.delete(name);
      else job.input.set(name, value);
    });
  const [givenQuality, givenResolution] = TIER.map((name) => job.sent(name));
  const resolutions = resolution?.values ?? [];
  const pairs = [undefined, ...quality.values].flatMap((q) => [undefined, ...resolutions].map((r) => [q, r] as const));
  const cost = ([q, r]: (typeof pairs)[number]) =>
    // A changed resolution costs more than a changed quality, because it is visible in the output.
    (r === givenResolution ? 0 : givenResolution === undefined ? 1 : 10 + resolutions.indexOf(r ?? null)) +
    (q === givenQuality ? 0 : givenQuality === undefined ? 2 : 5);
  for (const pair of pairs.toSorted((a, b) => cost(a) - cost(b))) {
    put(pair.map((value) => (value === undefined ? undefined : json(value))));
    if (problemsOf(job).some(isOfTier)) continue;
    reportTier(job, { quality: givenQuality, resolution: givenResolution }, defaults);
    return true;
  }
  put(before);
  return false;
}

function reportTier(job: Job, before: { readonly [name: string]: Json | undefined }, { prefix }: Defaults): void {
  for (const name of TIER) {
    const value = job.sent(name) ?? null;
    if (value === (before[name] ?? null) || (name === "quality" && job.levelOfSlug !== null)) continue;
    const other = name === "quality" ? "resolution" : "quality";
    job.reportChange(
      name,
      `${prefix}${name}`,
      value,
      `chosen because ${job.view.id} accepts this value in combination with the ${other}`,
    );
  }
}

function reportLevelOfSlug(job: Job, { prefix }: Defaults): void {
  const { levelOfSlug: level, view, body } = job;
  const written = job.sent("quality") ?? null;
  const quality = written ?? view.fields.get("quality")?.preset ?? null;
  if (level === null || quality === level.quality) return;
  const { fieldReport } = body;
  const at = job.sent("resolution") ?? null;
  const sent = quality === null ? `the default of ${view.id}` : `quality ${quality}`;
  const sizes = (view.fields.get("resolution")?.values ?? []).filter((size) => {
    const tried = new Map([...job.input, ["quality", json(level.quality)], ["resolution", json(size)]]);
    return problemsOf(job, tried).length === 0;
  });
  const [resolution] = sizes.length === 0 ? [] : job.originsOf("resolution");
  const where = resolution === undefined ? "with these fields" : `at ${at}`;
  fieldReport.amend(level.path, null, {
    to: `${job.step}: model`,
    newValue: written === null ? view.id : `${view.id}, quality ${written}`,
    why: `the quality ${level.quality} in the slug is dropped: ${view.id} does not offer it ${where} (see the entry for ${resolution === undefined ? "quality" : "resolution"})`,
  });
  const why = `the slug contains ${level.quality}, which ${view.id} does not offer ${where}; ${sent} is used for now`;
  if (resolution === undefined) {
    const choices = [sent, "change the other fields in the v2 body", "choose another model"];
    const newValue = written === null ? {} : { newValue: written };
    fieldReport.add(`${prefix}quality`, "decision", { to: job.to("quality"), ...newValue, why, choices });
  } else {
    const choices = [`${sent} at ${at}`, `${level.quality} at another resolution`];
    const details = { to: job.to("resolution"), newValue: at, choices };
    const made = `${why}; ${level.quality} is available at ${sizes.join(", ")}`;
    fieldReport.amend(resolution, "decision", { ...details, why: made });
  }
}

function leaveOut(job: Job, problem: FieldProblem): boolean {
  const name = job.input.has(topOf(problem) ?? "") ? topOf(problem) : dependentOf(job, problem);
  const field = name === null ? undefined : job.view.fields.get(name);
  if (name === null || field?.isRequired || !job.input.has(name)) return false;
  const because = `${problem.field.replace(/^input\.?/, "") || name} ${problem.message}`;
  job.leaveOut(name, because, ["leave it out", ...(problem.allowed ?? []).slice(0, 8), "correct it in the source"]);
  return true;
}

/** Returns the field whose presence makes the missing field required, or null if there is none. */
function dependentOf(job: Job, problem: FieldProblem): string | null {
  const missing = topOf(problem);
  const [, other] = /when (\w+) is given/.exec(problem.message) ?? [];
  if (other !== undefined && job.input.has(other)) return other;
  return missing === "start_image" && job.input.has("end_image") ? "end_image" : null;
}

const CODES = ["combination-table", "combination-by-default"];
const isOfTable = ({ code }: { readonly code: string }) => CODES.includes(code);

/**
 * Changes the input to the nearest combination of fields that the model accepts. Returns the fields that the input
 * still lacks, or null if no change is needed or possible.
 */
function fitToTable(job: Job, prefix: string): readonly string[] | null {
  const rows = (combinationTable(job.view.model.inputSchema)?.rows ?? [])
    .map((row) => ({ row, loss: lossOf(job, row) }))
    .filter(({ loss }) => Number.isFinite(loss))
    .sort((a, b) => a.loss - b.loss);
  const row = rows[0]?.row;
  if (row === undefined) return null;
  const omitted = row.omits.filter((name) => job.input.has(name));
  const because = `${job.view.id} does not accept this field together with the others; the closest combination that it accepts is ${row.text}`;
  for (const name of omitted) job.leaveOut(name, because, ["leave it out", "choose another model"]);
  const wrong = [...row.accepts].filter(([name, values]) => !accepts(job, name, values));
  for (const [name, values] of wrong) accept(job, prefix, name, values);
  const missing = row.requires.filter((name) => !isThere(job, name));
  return omitted.length + wrong.length + missing.length === 0 ? null : missing;
}

const LOSS_OF_MEDIUM: Readonly<Record<string, number>> = { video: 1000, audio: 500, image: 200 };

function lossOf(job: Job, { requires, omits, accepts: accepted }: Combination): number {
  const fields = (names: readonly string[]) => names.map((name) => job.view.fields.get(name));
  const left = fields(omits.filter((name) => job.input.has(name))).map((field) =>
    field === undefined || field.isRequired ? Number.POSITIVE_INFINITY : worth(field),
  );
  const lacking = fields(requires.filter((name) => !isThere(job, name))).map((field) => {
    if (field === undefined) return Number.POSITIVE_INFINITY;
    // The pipeline asks for media that the body lacks only if no other row fits.
    return field.takes.what === "media" && !field.isRequired ? 5000 : 20;
  });
  const changed = [...accepted].map(([name, values]) => {
    if (accepts(job, name, values)) return 0;
    return nearest(job, name, values) === undefined ? Number.POSITIVE_INFINITY : changeOf(job, name);
  });
  return [...left, ...lacking, ...changed].reduce((sum, one) => sum + one, 0);
}

function worth({ takes, name }: FieldView): number {
  if (takes.what === "media") return Math.max(...takes.kinds.map((kind) => LOSS_OF_MEDIUM[kind] ?? 0), 200);
  return /prompt|text/.test(name) ? 300 : 30;
}

/**
 * Returns the penalty for changing a field. Changing the quality has a lower penalty than, for example, changing the
 * resolution, because the effect is less visible.
 */
function changeOf(job: Job, name: string): number {
  return job.input.has(name) ? (name === "quality" ? 5 : 10) : 1;
}

function isThere(job: Job, name: string): boolean {
  return job.input.has(name) || job.view.fields.get(name)?.preset !== undefined;
}

function sentValue(job: Job, name: string): Json | undefined {
  return job.input.has(name) ? job.sent(name) : job.view.fields.get(name)?.preset;
}

function accepts(job: Job, name: string, values: readonly string[]): boolean {
  const value = sentValue(job, name);
  return value === undefined || values.includes(String(value));
}

function nearest(job: Job, name: string, values: readonly string[]): Json | undefined {
  const field = job.view.fields.get(name);
  if (field === undefined) return undefined;
  const allowed =
    field.values?.filter((one) => values.includes(String(one))) ??
    values.map((one) => (field.types.includes("string") ? one : Number(one)));
  const fitted = coerce({ ...field, values: allowed }, sentValue(job, name) ?? null);
  return fitted.fits ? fitted.value : allowed[0];
}

function accept(job: Job, prefix: string, name: string, values: readonly string[]): void {
  const before = String(sentValue(job, name) ?? "");
  const value = nearest(job, name, values) ?? null;
  job.input.set(name, json(value));
  if (name === "quality" && job.levelOfSlug !== null) return;
  const [origin] = job.originsOf(name);
  const isLess = name === "resolution" && (linesOf(String(value), 1024) ?? 0) < (linesOf(before, 1024) ?? 0);
  const chosen = `chosen because ${job.view.id} accepts this value together with the other fields`;
  if (origin === undefined || !isLess) return job.reportChange(name, `${prefix}${name}`, value, chosen);
  const why = `${job.view.id} does not accept ${before} with these fields; ${value} is used for now`;
  const choices = [String(value), `${before}, with other fields`];
  job.body.fieldReport.amend(origin, "decision", { to: job.to(name), newValue: value, why, choices });
}
