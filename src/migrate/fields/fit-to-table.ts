import { type Combination, combinationTable } from "../../core/catalog/index.ts";
import type { Json } from "../../core/plan/plan.ts";
import { json } from "../expression.ts";
import type { FieldView } from "../models/view.ts";
import { coerce, linesOf } from "./coerce.ts";
import type { Job } from "./job.ts";

const CODES = ["combination-table", "combination-by-default"];
export const isOfTable = ({ code }: { readonly code: string }) => CODES.includes(code);

/** Returns the fields that the chosen combination still lacks, or null if nothing changed. */
export function fitToTable(job: Job, prefix: string): readonly string[] | null {
  const rows = (combinationTable(job.view.model.inputSchema)?.rows ?? [])
    .map((row) => ({ row, loss: lossOf(job, row) }))
    .filter(({ loss }) => Number.isFinite(loss))
    .sort((a, b) => a.loss - b.loss);
  const row = rows[0]?.row;
  if (row === undefined) return null;
  const omitted = row.omits.filter((name) => job.input.has(name));
  const because = `${job.view.id} does not accept it with the other fields; the nearest combination is ${row.text}`;
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
  const changed = [...accepted].map(([name, values]) =>
    accepts(job, name, values)
      ? 0
      : nearest(job, name, values) === undefined
        ? Number.POSITIVE_INFINITY
        : changeOf(job, name),
  );
  return [...left, ...lacking, ...changed].reduce((sum, one) => sum + one, 0);
}

function worth({ takes, name }: FieldView): number {
  if (takes.what === "media") return Math.max(...takes.kinds.map((kind) => LOSS_OF_MEDIUM[kind] ?? 0), 200);
  return /prompt|text/.test(name) ? 300 : 30;
}

/** A resolution costs more than a quality level, because it is visible. */
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
  if (origin === undefined || !isLess)
    return job.reportChange(
      name,
      `${prefix}${name}`,
      value,
      `chosen because ${job.view.id} accepts it with these fields`,
    );
  const why = `${job.view.id} does not accept ${before} with these fields; ${value} is used for now`;
  const choices = [String(value), `${before}, with other fields`];
  job.body.fieldReport.amend(origin, "decision", { to: job.to(name), newValue: value, why, choices });
}
