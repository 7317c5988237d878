import { type Catalog, type CatalogModel, mediaTypeOf, properties, yieldsOf } from "../catalog/catalog.ts";
import { validateInput } from "../catalog/validate.ts";
import { suggest } from "../suggest.ts";
import type { Draft, DraftJob, DraftUpload } from "./draft.ts";
import { fingerprint } from "./fingerprint.ts";
import type { FileFacts, JobStep, Json, Plan, Problem, UploadStep } from "./plan.ts";
import { fieldPath, isReference, type PlacedReference, placedReferences, resolveInput } from "./references.ts";

export interface PlanContext {
  readonly catalog: Catalog;
  /** By path as the draft has it. */
  readonly files: ReadonlyMap<string, FileFacts | { readonly error: string }>;
}

export type PlanOutcome =
  | { readonly ok: true; readonly plan: Plan; readonly parsedInput: Json }
  | { readonly ok: false; readonly problems: readonly Problem[] };

type Step = JobStep | UploadStep;

/** Checks a draft against files and models. All problems at once, or a plan that the service should accept. */
export function makePlan(draft: Draft, context: PlanContext): PlanOutcome {
  const problems: Problem[] = [];
  const steps = new Map<string, Step>();
  for (const step of draft.steps) {
    const made = step.kind === "upload" ? planUpload(step, context, problems) : planJob(step, steps, context, problems);
    steps.set(step.path, made);
  }
  for (const { ref, at } of placedReferences(draft.returns)) {
    checkIndex({ ref, at }, null, steps, problems);
  }
  if (problems.length > 0) return { ok: false, problems };
  const plan: Plan = { version: 1, pipeline: draft.pipeline, steps: [...steps.values()], returns: draft.returns };
  return { ok: true, plan, parsedInput: draft.parsedInput };
}

function planUpload(step: DraftUpload, { files }: PlanContext, problems: Problem[]): UploadStep {
  const { path, yields } = step;
  const facts = files.get(step.file) ?? { error: `${step.file} was not measured` };
  const file = "error" in facts ? { path: step.file, sha256: "", sizeBytes: 0, contentType: "" } : facts;
  if ("error" in facts) problems.push({ code: "missing-file", step: path, field: "file", message: facts.error });
  else if (!facts.contentType.startsWith(`${yields}/`)) {
    const message = `${step.file} is ${facts.contentType}, not ${yields}; give a file of that kind`;
    problems.push({ code: "not-media-file", step: path, field: "file", message });
  }
  const asks = { kind: "upload", sha256: file.sha256, yields };
  return { kind: "upload", path, needs: [], yields, file, fingerprint: fingerprint(asks) };
}

function planJob(
  step: DraftJob,
  steps: ReadonlyMap<string, Step>,
  { catalog }: PlanContext,
  problems: Problem[],
): JobStep {
  const { path, model: id, input, policy } = step;
  const report = (code: string, field: string | null, message: string, more: Partial<Problem> = {}) =>
    problems.push({ code, step: path, field, message, ...more });
  const model = usableModel(id, catalog, report);
  const references = placedReferences(input, ["input"]);
  for (const placed of references) checkIndex(placed, path, steps, problems);
  if (model !== null) {
    const filled = resolveInput(input, (ref) => standIn(ref, steps));
    for (const { code, field, message, allowed } of validateInput(model.inputSchema, filled)) {
      report(code, field, message, allowed === undefined ? {} : { allowed });
    }
    for (const placed of references) checkKind(placed, model, steps, report);
    checkLiterals(input, model, report);
  }
  const needs = [...new Set([...references.map(({ ref }) => ref.step), ...step.after])].sort();
  const yields = model === null ? (step.yields ?? "image") : yieldsOf(model);
  return {
    kind: "job",
    path,
    needs,
    model: id,
    input,
    yields: yields === "value" ? "image" : yields,
    outputs: outputCount(input, model),
    policy,
    fingerprint: fingerprint({ kind: "job", model: id, input }),
  };
}

type Report = (code: string, field: string | null, message: string, more?: Partial<Problem>) => void;

function usableModel(id: string, catalog: Catalog, report: Report): CatalogModel | null {
  const model = catalog.model(id);
  if (model === null) {
    const near = suggest(id, catalog.ids());
    const hint = near === null ? "see them with: showrunner models list" : `did you mean ${near}?`;
    report("unknown-model", "model", `the service has no model ${id}; ${hint}`, { allowed: catalog.ids() });
    return null;
  }
  if (model.state === "retired") {
    const next = model.replacedBy === undefined ? "and has no successor" : `use ${model.replacedBy} instead`;
    const more = model.replacedBy === undefined ? {} : { replacedBy: model.replacedBy };
    report("retired-model", "model", `${id} is retired; ${next}`, more);
    return null;
  }
  if (model.state === "unsupported") {
    report("unsupported-model", "model", `${id} exists but cannot be used: ${model.message ?? "not supported yet"}`);
    return null;
  }
  return model;
}

function checkIndex(
  { ref, at }: PlacedReference,
  step: string | null,
  steps: ReadonlyMap<string, Step>,
  problems: Problem[],
): void {
  const source = steps.get(ref.step);
  if (source?.kind !== "job" || typeof ref.output !== "number" || ref.output < source.outputs) return;
  const message = `${ref.step} has ${source.outputs} ${source.outputs === 1 ? "output" : "outputs"}, so there is no output ${ref.output} (they count from 0)`;
  problems.push({ code: "output-index", step, field: fieldPath(at), message });
}

function checkKind(
  { ref, at }: PlacedReference,
  model: CatalogModel,
  steps: ReadonlyMap<string, Step>,
  report: Report,
): void {
  const name = at[1];
  if (typeof name !== "string") return;
  const schema = properties(model.inputSchema)[name];
  const wanted = mediaTypeOf(schema) ?? (name === "voice_id" ? "voice" : null);
  const given = steps.get(ref.step)?.yields ?? null;
  if (wanted === null || given === null || wanted === given) return;
  report("media-kind", fieldPath(at), `takes ${wanted}, and ${ref.step} makes ${given}`);
}

/** URLs that are no upload: the service would refuse them. */
function checkLiterals(input: Json, model: CatalogModel, report: Report): void {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return;
  for (const [name, value] of Object.entries(input)) {
    if (mediaTypeOf(properties(model.inputSchema)[name]) === null) continue;
    for (const [index, item] of (Array.isArray(value) ? value : [value]).entries()) {
      if (typeof item !== "object" || item === null || isReference(item as Json)) continue;
      if ((item as { source?: Json }).source !== "url") continue;
      const field = Array.isArray(value) ? `input.${name}[${index}]` : `input.${name}`;
      report("foreign-url", field, "only files that were uploaded can be read; use upload() and pass its handle");
    }
  }
}

/** A valid value of the kind that the reference will have, so that the rest of the input can be checked. */
function standIn(ref: PlacedReference["ref"], steps: ReadonlyMap<string, Step>): Json {
  if (ref.as === "voice") return "voice_00000000-0000-4000-8000-000000000000";
  const media = { source: "asset", asset_id: "asset_00000000-0000-4000-8000-000000000000" };
  if (ref.output !== "all") return media;
  const source = steps.get(ref.step);
  return Array.from({ length: source?.kind === "job" ? source.outputs : 1 }, () => media);
}

function outputCount(input: Json, model: CatalogModel | null): number {
  const asked = typeof input === "object" && input !== null && "num_outputs" in input ? input.num_outputs : null;
  if (typeof asked === "number") return asked;
  const preset = model === null ? null : properties(model.inputSchema).num_outputs?.default;
  return typeof preset === "number" ? preset : 1;
}
