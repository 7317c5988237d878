import type { DraftJson } from "../../plan/draft.ts";
import type { StepPolicy } from "../../plan/plan.ts";
import { didYouMean } from "../../plan/suggest.ts";
import type { JobHandle } from "../handle.ts";
import { jobHandle } from "../handle-value.ts";
import { type InputOf, type MaxOutputsOf, MissingModel, type ModelOrId, type YieldOf } from "../model.ts";
import type { Recorder } from "../recorder.ts";
import { type MediaOptions, OptionReader, PAID_OPTIONS, type PaidOptions } from "./options.ts";
import { bindRevise, type ReviseOption, type SettledInput } from "./revise.ts";

/** `M`: the model, whose input `revise` takes. */
export interface JobOptions<M extends ModelOrId = never>
  extends PaidOptions,
    MediaOptions,
    ReviseOption<SettledInput<M>> {
  /** Copy all outputs to disk as soon as they exist. Default true. */
  readonly keep?: boolean | undefined;
  /**
   * Of a step that clones a voice: that the speaker agreed, and how that is known. Goes into the manifest of every file
   * that the voice speaks in. Default: what the pipeline says.
   */
  readonly consent?: string | undefined;
}

export interface JobMethod {
  /**
   * Adds a paid job: a model of the catalog, or its id, with its input. The handle stands for the job's output, and goes
   * where another step's input takes one of its kind: that is the dependency. `.output(i)` and `.outputs()` say more.
   */
  <M extends ModelOrId>(
    name: string,
    model: M,
    input: InputOf<M>,
    options?: JobOptions<NoInfer<M>>,
  ): JobHandle<YieldOf<M>, MaxOutputsOf<M>>;
}

export const JOB_OPTIONS: readonly string[] = [...PAID_OPTIONS, "keep", "consent", "expect", "revise"];

export function jobMethod(recorder: Recorder): JobMethod {
  return <M extends ModelOrId>(name: string, model: M, input: InputOf<M>, options?: object) => {
    const path = recorder.path(name);
    const read = new OptionReader(options, path, recorder);
    read.only("a job", JOB_OPTIONS);
    const [after, when] = [read.after(), read.when()];
    const planned = recorder.json(input, { step: path, field: "input" });
    checkModel(recorder, path, model);
    addJob(recorder, { path, model, input: planned, policy: read.policy(), after, when, seed: null });
    bindRevise(recorder, path, read);
    return jobHandle<YieldOf<M>, MaxOutputsOf<M>>(path, yieldOf(model), recorder.build);
  };
}

interface Job {
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

/** Reports what is no model, such as a name that `models.ts` does not have. */
export function checkModel({ report }: Recorder, step: string, model: ModelOrId | MissingModel | undefined): void {
  const say = (message: string) => report({ code: "unknown-model", step, field: "model", message });
  if (model instanceof MissingModel) {
    const { id, known } = model;
    const others = didYouMean(id, known) ?? `for example ${known.slice(0, 3).join(", ")}`;
    say(`models.ts has no \`${id}\`; \`showrunner models pull\` wrote ${known.length} others; ${others}`);
  } else if (typeof model !== "string" && typeof model?.id !== "string") {
    const next = "give one of models.ts, which `showrunner models pull` writes, or an id";
    say(`${model === undefined ? "undefined" : "what is given"} is no model; ${next}`);
  }
}

/** A model that is none gets a name that no catalog has. */
function idOf(model: ModelOrId | undefined): string {
  return typeof model === "string" ? model : String(model?.id);
}

export function yieldOf<M extends ModelOrId>(model: M): YieldOf<M> {
  return (typeof model === "string" ? "unknown" : (model?.yields ?? "unknown")) as YieldOf<M>;
}
