import type { DraftReference, JobDraft } from "../../define/draft.ts";
import type { CatalogModel } from "../catalog-port.ts";
import { fingerprint } from "../fingerprint.ts";
import { didYouMean, nearest } from "../near.ts";
import type { JobStep, Json } from "../plan.ts";
import { inputPlace } from "../schema/field.ts";
import { outputsOf, yieldsOf } from "../schema/model-facts.ts";
import { placeInput } from "./job-input.ts";
import type { Planning, StepFacts, StepKind } from "./kind.ts";

export const jobKind: StepKind<JobDraft> = {
  files: () => [],
  models: ({ model }) => [model],
  plan(draft, planning) {
    const model = usableModel(draft.model, planning);
    const place = model === null ? null : inputPlace(model.inputSchema);
    const placed = placeInput(draft.input, place, planning);
    if (model !== null) checkInput(model, placed, planning);
    const yields = model === null ? null : yieldsOf(model);
    const facts: StepFacts = {
      yields,
      outputs: model === null ? Number.POSITIVE_INFINITY : outputsOf(draft.input, model),
      as: yields === "voice" ? "voice" : "asset",
      sizeBytes: null,
    };
    return { step: yields === null ? null : jobStep(draft, placed.input, { yields, outputs: facts.outputs }), facts };
  },
};

function jobStep(draft: JobDraft, input: Json, made: Pick<JobStep, "yields" | "outputs">): JobStep {
  const { path, model, policy } = draft;
  const needs = [...new Set([...stepsIn(draft.input), ...draft.after])].sort();
  const asks = fingerprint({ kind: "job", model, input });
  return { kind: "job", path, needs, model, input, ...made, policy, fingerprint: asks };
}

function stepsIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  if ("$ref" in value) return [(value as DraftReference).$ref.step];
  return Object.values(value).flatMap(stepsIn);
}

function checkInput(model: CatalogModel, placed: ReturnType<typeof placeInput>, { catalog, report }: Planning): void {
  for (const problem of catalog.check(model, placed.sample)) {
    // What a reference stands for is checked where it stands; its stand-in is nobody's mistake.
    const isOurs = placed.settled.some((field) => problem.field === field || problem.field.startsWith(`${field}.`));
    if (isOurs) continue;
    report(problem.code, problem.field, problem.message, problem.allowed && { allowed: problem.allowed });
  }
}

function usableModel(id: string, { catalog, report }: Planning): CatalogModel | null {
  const model = catalog.model(id);
  if (model === null) {
    const hint = didYouMean(id, catalog.ids()) ?? "see them all with: showrunner models list";
    report("unknown-model", "model", `the service has no model ${id}; ${hint}`, {
      allowed: nearest(id, catalog.ids()),
    });
    return null;
  }
  const why = model.message === undefined ? "" : ` (${model.message})`;
  switch (model.state) {
    case "live":
      return model;
    case "retired": {
      const { replacedBy } = model;
      const next =
        replacedBy === undefined ? "it names no successor; choose another model" : `use ${replacedBy} instead`;
      report("retired-model", "model", `${id} is retired; ${next}`, replacedBy === undefined ? {} : { replacedBy });
      return null;
    }
    case "unsupported":
      report("unsupported-model", "model", `${id} exists, but not at this service yet; choose another model${why}`);
      return null;
    case "unknown":
      report(
        "unsupported-model",
        "model",
        `${id} makes ${model.modality || "something"} that this version does not know`,
      );
      return null;
    default:
      return model.state satisfies never;
  }
}
