import { parseUsd } from "../../money.ts";
import type { StepPolicy } from "../../plan/plan.ts";
import type { Handle, JobHandle } from "../handle.ts";
import { jobHandle } from "../handle-value.ts";
import type { InputOf, MaxOutputsOf, ModelOrId, YieldOf } from "../model.ts";
import type { Recorder } from "../recorder.ts";
import { afterPaths } from "./after.ts";

export interface JobOptions {
  /** Paid attempts at most. Default 1; more only repeats a job that cost nothing, or that is worth paying for again. */
  readonly attempts?: number | undefined;
  /** The most that one attempt may cost, a decimal of US dollars such as `"1.50"`. Needed when the model has no quote. */
  readonly maxCost?: string | undefined;
  /** Copy all outputs to disk as soon as they exist. Default true. */
  readonly keep?: boolean | undefined;
  /** Steps that must be over before this one begins although it uses none of their results. */
  readonly after?: Handle | readonly Handle[] | undefined;
}

/** Adds a paid job: a model of the catalog with its input. */
export type JobWord = <M extends ModelOrId>(
  name: string,
  model: M,
  input: InputOf<M>,
  options?: JobOptions,
) => JobHandle<YieldOf<M>, MaxOutputsOf<M>>;

export function jobWord(recorder: Recorder): JobWord {
  return <M extends ModelOrId>(name: string, model: M, input: InputOf<M>, options: JobOptions = {}) => {
    const path = String(name).normalize("NFC");
    const id = typeof model === "string" ? model : model.id;
    recorder.add({
      kind: "job",
      path,
      model: id,
      input: recorder.json(input, { step: path, field: "input" }),
      policy: policyOf(options, path, recorder),
      after: afterPaths(options.after, path, recorder),
    });
    const yields = (typeof model === "string" ? "unknown" : model.yields) as YieldOf<M>;
    return jobHandle<YieldOf<M>, MaxOutputsOf<M>>(path, yields, recorder.build);
  };
}

const OPTIONS = ["attempts", "maxCost", "keep", "after"];

function policyOf(options: JobOptions, step: string, recorder: Recorder): StepPolicy {
  const bad = (field: string, message: string) => recorder.report({ code: "bad-option", step, field, message });
  for (const key of Object.keys(options)) {
    if (!OPTIONS.includes(key)) bad(key, `${key} is no option of a job; options are ${OPTIONS.join(", ")}`);
  }
  const { attempts = 1, maxCost, keep = true } = options;
  const isCount = Number.isSafeInteger(attempts) && attempts >= 1 && attempts <= 100;
  if (!isCount) bad("attempts", `attempts is ${attempts}; give a whole number from 1 to 100`);
  const maxCostMicros = maxCost === undefined ? null : parseUsd(String(maxCost));
  if (maxCost !== undefined && maxCostMicros === null) {
    bad("maxCost", `maxCost is ${JSON.stringify(maxCost)}; give US dollars as a decimal string, such as "1.50"`);
  }
  if (typeof keep !== "boolean") bad("keep", "keep is neither true nor false");
  return { attempts: isCount ? attempts : 1, maxCostMicros, keep };
}
