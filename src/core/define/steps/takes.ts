import type { DraftReference } from "../../plan/draft.ts";
import type { TakesHandle } from "../handle.ts";
import { type StepPointer, takesHandle } from "../handle.ts";
import type { InputOf, ModelOrId, YieldOf } from "../model.ts";
import type { Recorder } from "../recorder.ts";
import { addJob, checkModel, yieldOf } from "./add-job.ts";
import { bindRevise, type SettledInput } from "./approve.ts";
import { addChoice, type ChooseOptions } from "./choose.ts";
import { JOB_OPTIONS, type JobOptions } from "./job.ts";
import { OptionReader } from "./options.ts";

export interface TakesOptions<M extends ModelOrId = never>
  extends JobOptions<M>,
    Pick<ChooseOptions, "version" | "message"> {
  /** Number of takes. With `choose: "first"`, it is the maximum: a take is made only if all takes before it failed. */
  readonly count: number;
  /** How a take is chosen: by a person, by order (the first that succeeds), or by a function that scores each take. */
  readonly choose: ChooseOptions["by"];
}

export interface TakesMethod {
  /**
   * Adds several takes of one job and a step that chooses one of them. The steps are `<name>/1`, `<name>/2` … and
   * `<name>/pick`. Each take has its own seed if the model accepts one.
   */
  <M extends ModelOrId>(
    name: string,
    model: M,
    input: InputOf<M>,
    options: TakesOptions<NoInfer<M>>,
  ): TakesHandle<YieldOf<M>, SettledInput<M>>;
}

/** Upper limit for the seeds of takes. A model may have a lower one. */
const SEEDS = 2 ** 31;

export function takesMethod(recorder: Recorder): TakesMethod {
  return <M extends ModelOrId>(name: string, model: M, input: InputOf<M>, options: Omit<TakesOptions, "revise">) => {
    const path = recorder.path(name);
    const part = recorder.part(name);
    const read = new OptionReader(options, path, recorder);
    read.only("takes", [...JOB_OPTIONS, "count", "choose", "version", "message"]);
    const count = read.count("count", { least: 1, most: 100, preset: Number.NaN });
    const [policy, after, firstWhen] = [read.policy(), read.after(), read.when()];
    const seed = seedOf(input) ?? hash(path);
    const { seed: _, ...unseeded } = (typeof input === "object" && input !== null ? input : {}) as { seed?: unknown };
    const given = typeof seedOf(input) === "number" ? unseeded : input;
    // The input is recorded once, so that its problems are not reported for each take.
    const planned = recorder.json(given, { step: path, field: "input" });
    checkModel(recorder, path, model);
    const takes: string[] = [];
    for (let take = 0; take < (Number.isNaN(count) ? 1 : count); take++) {
      const before = takes.at(-1);
      const waits = options?.choose === "first" && before !== undefined;
      const when = waits ? { failed: before } : firstWhen;
      const step = part.path(take + 1);
      addJob(part, { path: step, model, input: planned, policy, after, when, seed: (seed + take) % SEEDS });
      bindRevise(part, step, read);
      takes.push(step);
    }
    const pick = part.path("pick");
    const among = takes.map((step): DraftReference => ({ $ref: { step, output: "all" } }));
    const choice = new OptionReader({ version: options?.version, message: options?.message }, path, recorder);
    addChoice(part, pick, among, { read: choice, by: options?.choose, field: "choose" });
    const { build } = recorder;
    const pointers = takes.map((step): StepPointer => ({ to: "step", step, output: "single", build }));
    return takesHandle(pick, yieldOf(model), { pointers, build, input: planned });
  };
}

function seedOf(input: unknown): number | null {
  const seed = typeof input === "object" && input !== null && "seed" in input ? input.seed : null;
  return typeof seed === "number" && Number.isSafeInteger(seed) && seed >= 0 ? seed : null;
}

/** FNV-1a, because a take must have the same seed on every machine. */
function hash(text: string): number {
  let found = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) found = Math.imul(found ^ text.charCodeAt(at), 0x01000193);
  return (found >>> 0) % SEEDS;
}
