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

/** The methods that add steps. A new kind of step adds its method here, to `methodOf` and to {@link stepMethods}. */
export interface StepMethods {
  readonly job: JobMethod;
  readonly upload: UploadMethod;
  readonly chat: ChatMethod;
  readonly task: TaskMethod;
  readonly generate: GenerateMethod;
  readonly approve: ApproveMethod;
  readonly choose: ChooseMethod;
  readonly takes: TakesMethod;
  readonly firstOf: FirstOfMethod<StepMethods>;
  readonly compare: CompareMethod<StepMethods>;
  readonly expand: ExpandMethod<StepMethods>;
  readonly include: IncludeMethod<StepMethods>;
}

/** What `build` gets: the parsed input, and the methods that add steps. */
export interface Builder<I> extends StepMethods {
  readonly input: I;
}

/** The method that adds each kind of step; a kind without one does not compile. */
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
