import type { Json } from "../../core/plan/plan.ts";
import { type Body, type ConvertedJob, given, type Variation } from "../body.ts";
import { json } from "../expression.ts";
import { coerce } from "../fields/coerce.ts";
import type { Job } from "../fields/job.ts";
import type { FieldView } from "../models/view.ts";
import { camel } from "../names.ts";
import { type JsonPath, pathText } from "../read/source.ts";
import { fieldsOf } from "../v2-types.ts";

export function batchOf(body: Body): number {
  const size = sizeOf(body);
  return typeof size === "number" ? size : 1;
}

const sizeOf = (body: Body) =>
  Object.hasOwn(fieldsOf(body.type), "batch_size") ? given(body, "batch_size") : undefined;

/** Returns one seed per variation, or null if the variations have no separate seeds. */
export function seedsOf(job: Job, path: JsonPath, count: number): readonly Json[] | null {
  const field = job.plainField(["seed"]);
  const old = given(job.body, ...path);
  if (count === 1 || typeof old === "string") {
    job.plain(path, "seed");
    return null;
  }
  if (field === null) {
    if (old !== undefined) job.drop(path, `${job.view.id} has no seed field, so the variations are random`);
    return null;
  }
  const first = old === undefined ? 1 : old;
  const seeds = Array.from({ length: count }, (_, index) => nth(field, Number(first), index));
  const to = job.to("seed");
  if (old === undefined) {
    const why =
      "v2 chose a random seed for each variation; the pipeline sets each seed explicitly so that all jobs differ";
    job.body.fieldReport.add(pathText(path), "defaulted", { to, newValue: seeds, why });
  } else {
    job.body.fieldReport.note(path, "converted", { to, newValue: seeds, why: "one seed for each variation" });
  }
  return seeds;
}

/** Returns the seed of a variation. Seeds increase from `first`, and start over after the highest seed. */
function nth(field: FieldView, first: number, index: number): Json {
  const fitted = coerce(field, first);
  const start = fitted.fits && typeof fitted.value === "number" ? fitted.value : 0;
  if (field.values !== null) return field.values[index % field.values.length] ?? null;
  const low = Number.isFinite(field.min) ? field.min : 0;
  const over = start + index - field.max;
  return over > 0 ? low + over - 1 : start + index;
}

export function finishedJob(job: Job, count: number, seeds: readonly Json[] | null): ConvertedJob {
  const { context, body, view, input, shift } = job;
  const base = { view, input, shift, comments: [], body: body.index };
  if (count === 1) return { ...base, variations: [{ step: job.step, own: new Map() }], sharedName: null };
  const variations = Array.from({ length: count }, (_, index): Variation => {
    const seed = seeds?.[index];
    const own = new Map(seed === undefined ? [] : [["seed", json(seed)] as const]);
    return { step: context.names.reserve(`${job.step}-take-${index + 1}`), own };
  });
  return { ...base, variations, sharedName: camel(context.names.reserve(`${job.step}-input`)) };
}

export function noteBatch(job: Job, count: number): void {
  const hasSeed = job.plainField(["seed"]) !== null;
  const size = sizeOf(job.body);
  if (size === undefined) return;
  if (typeof size !== "number") {
    const why =
      "the flow fills in this value at run time, but the number of jobs must be known when the source code is generated";
    return job.decide(["batch_size"], why, ["one job", "write the jobs into the source"]);
  }
  const chance = hasSeed ? "" : `; ${job.view.id} has no seed field, so the results are random`;
  const why =
    count === 1
      ? "v3 generates one output per job"
      : `v3 generates one output per job, so each variation becomes a job${chance}`;
  const newValue = `${count} job${count === 1 ? "" : "s"}`;
  job.body.fieldReport.note(["batch_size"], "converted", { to: job.step, newValue, why });
}
