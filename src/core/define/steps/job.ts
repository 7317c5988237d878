import type { Handle, JobHandle } from "../handle.ts";
import { jobHandle } from "../handle.ts";
import type { InputOf, MaxOutputsOf, ModelOrId, YieldOf } from "../model.ts";
import type { Recorder } from "../recorder.ts";
import { ACCEPT_OPTIONS, type AcceptedHandle, type AcceptOptions, addAccepted, type InspectorOf } from "./accept.ts";
import { addJob, checkModel, type Job, yieldOf } from "./add-job.ts";
import { bindRevise, type ReviseOption, type SettledInput } from "./approve.ts";
import { type MediaOptions, OptionReader, PAID_OPTIONS, type PaidOptions } from "./options.ts";
import { addRewriting, isRewriting, MODERATED_OPTIONS, type ModeratedOptions } from "./rewrite.ts";

/** Options for a job. `revise` receives the input of the model `M`. */
export interface JobOptions<M extends ModelOrId = never>
  extends PaidOptions,
    MediaOptions,
    ReviseOption<SettledInput<M>> {
  /** Copies all outputs to disk as soon as they exist. Default true. */
  readonly keep?: boolean | undefined;
  /**
   * For a step that clones a voice: a statement that the speaker has agreed, and how you know this. The manifest of
   * every file in which the voice speaks includes the statement. Default: the pipeline's `consent`.
   */
  readonly consent?: string | undefined;
}

type Option = keyof JobOptions | keyof AcceptOptions<never> | keyof ModeratedOptions<undefined>;

/** Lets TypeScript know the given options before it infers the type of `accept`. */
type Given<K extends PropertyKey> = { readonly [P in K]?: P extends Option ? unknown : "unknown option" };

export interface JobMethod {
  /**
   * Adds a paid job that runs a model, given as a catalog model or its id. The handle stands for the job's output and
   * can be passed to any step that accepts this kind of media. `.output(i)` and `.outputs()` select among several
   * outputs. With `accept`, the output is inspected before any step that uses it begins. The steps are then `<name>/1`,
   * `<name>/1-ok` … and `<name>/pick`, and the handle stands for the accepted output.
   */
  <M extends ModelOrId, K extends PropertyKey = never, R extends "fail" | "rewrite" | undefined = undefined>(
    name: string,
    model: M,
    input: InputOf<M>,
    options?: JobOptions<NoInfer<M>> & AcceptOptions<InspectorOf<NoInfer<M>>> & ModeratedOptions<R> & Given<K>,
  ): "accept" extends K
    ? AcceptedHandle<YieldOf<M>, SettledInput<M>>
    : R extends "rewrite"
      ? Handle<YieldOf<M>, "single">
      : JobHandle<YieldOf<M>, MaxOutputsOf<M>, SettledInput<M>>;
}

export const JOB_OPTIONS: readonly string[] = [...PAID_OPTIONS, "keep", "consent", "expect", "revise"];

export function jobMethod(recorder: Recorder): JobMethod {
  const add = <M extends ModelOrId>(name: string, model: M, input: InputOf<M>, options?: object) => {
    const path = recorder.path(name);
    const read = new OptionReader(options, path, recorder);
    read.only("a job", [...JOB_OPTIONS, ...ACCEPT_OPTIONS, ...MODERATED_OPTIONS]);
    const [after, when] = [read.after(), read.when()];
    const planned = recorder.json(input, { step: path, field: "input" });
    checkModel(recorder, path, model);
    const job = { model, input: planned, policy: read.policy(), after, when };
    const rewrites = isRewriting(read);
    if (read.get("accept") !== undefined) {
      if (rewrites)
        read.bad("onModerated", "`onModerated` cannot rewrite the prompt of a job with `accept`; remove one of them");
      return addAccepted(recorder, name, job, read);
    }
    if (read.get("acceptAttempts") !== undefined)
      read.bad("acceptAttempts", "`acceptAttempts` has no effect without `accept`; add `accept`, or remove it");
    if (rewrites) {
      if (read.get("revise") !== undefined)
        read.bad("revise", 'use either `revise` or onModerated: "rewrite", not both');
      const twice = { input: planned, policy: job.policy, yields: yieldOf(model) };
      const addOne = (part: Recorder, fields: Pick<Job, "path" | "input" | "policy">) =>
        addJob(part, { ...job, ...fields, seed: null });
      return addRewriting(recorder, name, { ...twice, add: addOne }, read);
    }
    addJob(recorder, { ...job, path, seed: null });
    bindRevise(recorder, path, read);
    return jobHandle<YieldOf<M>, MaxOutputsOf<M>>(path, yieldOf(model), { build: recorder.build, input: planned });
  };
  return add as JobMethod;
}
