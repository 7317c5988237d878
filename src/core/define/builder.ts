import type { DraftStep } from "../plan/draft.ts";
import type { Recorder } from "./recorder.ts";
import { type ApproveMethod, approveMethod } from "./steps/approve.ts";
import { type ChatMethod, chatMethod } from "./steps/chat.ts";
import {
  type ChooseMethod,
  type CompareMethod,
  chooseMethod,
  compareMethod,
  type FirstOfMethod,
  firstOfMethod,
} from "./steps/choose.ts";
import { type ExpandMethod, expandMethod } from "./steps/expand.ts";
import { type GenerateMethod, generateMethod } from "./steps/generate.ts";
import { type IncludeMethod, includeMethod } from "./steps/include.ts";
import { type JobMethod, jobMethod } from "./steps/job.ts";
import { type TakesMethod, takesMethod } from "./steps/takes.ts";
import { type TaskMethod, taskMethod } from "./steps/task.ts";
import { type UploadMethod, uploadMethod } from "./steps/upload.ts";

/** The methods of a builder that add steps. */
export interface StepMethods {
  /** Adds a paid job that runs a model. */
  readonly job: JobMethod;
  /** Adds a file that is sent to the service. */
  readonly upload: UploadMethod;
  /** Adds a paid request to a chat model. */
  readonly chat: ChatMethod;
  /** Adds a local function of your own. */
  readonly task: TaskMethod;
  /** Adds a paid request to another provider, through its AI SDK model. */
  readonly generate: GenerateMethod;
  /** Adds a pause for a person's approval. */
  readonly approve: ApproveMethod;
  /** Adds a step that chooses one of several results. */
  readonly choose: ChooseMethod;
  /** Adds several takes of a job and a step that chooses one of them. */
  readonly takes: TakesMethod;
  /** Adds several options in order: each runs only if all options before it failed. */
  readonly firstOf: FirstOfMethod<StepMethods>;
  /** Adds the same work once per model, and a step that chooses one of the results. */
  readonly compare: CompareMethod<StepMethods>;
  /** Adds steps that depend on a value known only during the run, such as one for each item of a list. */
  readonly expand: ExpandMethod<StepMethods>;
  /** Adds the steps of another pipeline. */
  readonly include: IncludeMethod<StepMethods>;
}

/** The argument of `build`: the parsed input, and the methods that add steps. */
export interface Builder<I> extends StepMethods {
  readonly input: I;
}

const methodOf = {
  job: jobMethod,
  upload: uploadMethod,
  chat: chatMethod,
  task: taskMethod,
  generate: generateMethod,
  approve: approveMethod,
  pick: chooseMethod,
  expand: expandMethod,
} satisfies { readonly [K in DraftStep["kind"]]: (recorder: Recorder, methods: never) => unknown };

export function stepMethods(recorder: Recorder): StepMethods {
  return {
    job: methodOf.job(recorder),
    upload: methodOf.upload(recorder),
    chat: methodOf.chat(recorder),
    task: methodOf.task(recorder),
    generate: methodOf.generate(recorder),
    approve: methodOf.approve(recorder),
    choose: methodOf.pick(recorder),
    takes: takesMethod(recorder),
    firstOf: firstOfMethod(recorder, stepMethods),
    compare: compareMethod(recorder, stepMethods),
    expand: methodOf.expand(recorder, stepMethods),
    include: includeMethod(recorder, stepMethods),
  };
}
