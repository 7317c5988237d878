import { didYouMean } from "../../kit/suggest.ts";
import type { DraftJson } from "../../plan/draft.ts";
import type { StepPolicy } from "../../plan/plan.ts";
import { MissingModel, type ModelOrId, type YieldOf } from "../model.ts";
import type { Recorder } from "../recorder.ts";
import type { OptionReader } from "./options.ts";

export interface Job {
  readonly path: string;
  readonly model: ModelOrId;
  readonly input: DraftJson;
  readonly policy: StepPolicy;
  readonly after: readonly string[];
  readonly when: ReturnType<OptionReader["when"]>;
  readonly seed: number | null;
}

export function addJob(recorder: Recorder, { model, ...job }: Job): void {
  recorder.add({ kind: "job", ...job, model: idOf(model) });
}

export function checkModel({ report }: Recorder, step: string, model: ModelOrId | MissingModel | undefined): void {
  const say = (message: string) => report({ code: "unknown-model", step, field: "model", message });
  if (model instanceof MissingModel) {
    const { id, known } = model;
    const others = didYouMean(id, known) ?? `for example ${known.slice(0, 3).join(", ")}`;
    say(`models.ts has no model \`${id}\`; ${others}; \`showrunner models pull\` updates the file`);
  } else if (typeof model !== "string" && typeof model?.id !== "string") {
    const next = "use a model from models.ts, which `showrunner models pull` writes, or a model id";
    say(`${model === undefined ? "undefined" : "the value given"} is not a model; ${next}`);
  }
}

function idOf(model: ModelOrId | undefined): string {
  return typeof model === "string" ? model : String(model?.id);
}

export function yieldOf<M extends ModelOrId>(model: M): YieldOf<M> {
  return (typeof model === "string" ? "unknown" : (model?.yields ?? "unknown")) as YieldOf<M>;
}
