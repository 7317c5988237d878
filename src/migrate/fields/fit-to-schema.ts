import type { FieldProblem } from "../../core/plan/index.ts";
import type { Json } from "../../core/plan/plan.ts";
import { type Expression, json, sampleOf, shown } from "../expression.ts";
import type { FieldView } from "../models/view.ts";
import { coerce } from "./coerce.ts";
import { fitToTable, isOfTable } from "./fit-to-table.ts";
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
  const sample = [...input].map(([name, value]) => {
    const field = view.fields.get(name);
    const isVoice = field?.takes.what === "voice";
    return [name, inputSample(field, sampleOf(value, isVoice ? "voice" : "media"))] as const;
  });
  return context.options.catalog.check(view.model, Object.fromEntries(sample));
}

function inputSample(field: FieldView | undefined, sample: Json): Json {
  return sample === "supplied" && field?.values != null ? (field.values[0] ?? sample) : sample;
}

function topOf({ field }: FieldProblem): string | null {
  return /^input\.([^.[]+)/.exec(field)?.[1] ?? null;
}

/** `isOfRow` is true if the chosen combination of fields requires the field. */
function supply(job: Job, problem: FieldProblem, { prefix, values }: Defaults, isOfRow = false): boolean {
  const name = topOf(problem);
  const field = name === null ? undefined : job.view.fields.get(name);
  if (field === undefined || job.input.has(field.name) || problem.field !== `input.${field.name}`) return false;
  const { takes } = field;
  const at = `${prefix}${field.name}`;
  const needed = `${job.view.id} requires ${field.name}, which the body lacks`;
  // If only a quality level requires a resolution, both are chosen together.
  if (TIER.includes(field.name) && !field.isRequired && !isOfRow) return false;
  if (takes.what === "media") {
    // A frame that requires another frame is omitted later. No input is added for the other frame.
    if (!field.isRequired && !isOfRow) return false;
    const [kind = "image"] = takes.kinds;
    const file = job.context.file(`${job.step} ${field.name}`, kind, {
      name: `${job.step}-${field.name}`,
      why: needed,
    });
    job.add(field, file, null);
    const choices = [`supply the ${kind} file`, "choose a model that does not require it"];
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
    job.reportChange(name, `${prefix}${name}`, value, `chosen because ${job.view.id} accepts it with this ${other}`);
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
    why: `the slug's level ${level.quality} is left out: ${view.id} does not offer it ${where} (see the entry for ${resolution === undefined ? "quality" : "resolution"})`,
  });
  const why = `the slug contains ${level.quality}, which ${view.id} does not offer ${where}; ${sent} is used for now`;
  if (resolution === undefined) {
    const choices = [sent, "change the other fields in the source", "choose another model"];
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

/** Returns the field whose presence makes the missing one required. */
function dependentOf(job: Job, problem: FieldProblem): string | null {
  const missing = topOf(problem);
  const [, other] = /when (\w+) is given/.exec(problem.message) ?? [];
  if (other !== undefined && job.input.has(other)) return other;
  return missing === "start_image" && job.input.has("end_image") ? "end_image" : null;
}
