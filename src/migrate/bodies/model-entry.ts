import type { Json } from "../../plan/plan.ts";
import { type Body, given } from "../body.ts";
import { type JsonPath, pathText } from "../json-path.ts";
import { type Choice, isUuid } from "../models/choose.ts";
import { isTemplate } from "../read/template.ts";

/** Fields that may name a model, the strongest first. */
const MODEL_FIELDS = ["model_slug", "ai_model_id", "model_id"];

interface Named {
  readonly path: JsonPath;
  readonly value: string;
}

/** What a body calls its model, the strongest word first. */
export function namedModels(body: Body, prefix: JsonPath): readonly Named[] {
  const paths: readonly JsonPath[] = [
    ...MODEL_FIELDS.map((name) => [...prefix, name]),
    ...(prefix.length === 0 ? MODEL_FIELDS.map((name) => ["generated_video_inputs", name]) : []),
  ];
  return paths.flatMap((path) => {
    const value = given(body, ...path);
    return typeof value === "string" && !isTemplate(value) ? [{ path, value }] : [];
  });
}

/** Enters what became of the fields that name the model, and of the type where none does. */
export function noteModel(body: Body, prefix: JsonPath, choice: Choice, step: string): void {
  const { fieldReport } = body;
  const [named, ...weaker] = namedModels(body, prefix);
  const { view, quality, by, candidates } = choice;
  const because = choice.why === null ? "" : ` (${choice.why})`;
  const newValue: Json = quality === null ? view.id : `${view.id}, quality ${quality}`;
  const to = `${step}: model`;
  const isSure = by === "mapped" || by === "exact" || by === "only";
  if (given(body, ...prefix, "type") !== undefined) {
    fieldReport.note([...prefix, "type"], "converted", {
      to,
      newValue: view.id,
      why: "in v3 the model says what is made",
    });
  }
  for (const { path } of weaker)
    fieldReport.note(path, "dropped", { why: `${pathText(named?.path ?? [])} names the model` });
  if (named === undefined) {
    if (by === "only") return;
    const why = `v2 chose a model by itself; ${view.id} is taken until you confirm it`;
    return fieldReport.add(pathText([...prefix, "model_slug"]), "decision", { to, newValue, why, choices: candidates });
  }
  if (isSure) {
    const why = by === "mapped" ? "as mapped" : `exact: ${choice.why}`;
    return fieldReport.note(named.path, "converted", { to, newValue, why });
  }
  const why =
    by === "similar"
      ? `${view.id} is the most similar of what can do this${because}; confirm it, or map another`
      : `${unnamed(named.value)}${because}; ${view.id} is taken for now, which can do what this body asks for; confirm it, or map another`;
  fieldReport.note(named.path, "decision", { to, newValue, why, choices: candidates });
}

/** Why the name of a model was of no help. */
function unnamed(name: string): string {
  return isUuid(name) ? "v3 does not know the ids of v2 models" : "no v3 model has this name";
}
