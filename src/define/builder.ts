import type { Recorder } from "./recorder.ts";
import { approveMethod } from "./steps/approve.ts";
import { chatMethod } from "./steps/chat.ts";
import { chooseMethod } from "./steps/choose.ts";
import { expandMethod } from "./steps/expand.ts";
import { includeMethod } from "./steps/include.ts";
import { jobMethod } from "./steps/job.ts";
import type { StepMethods } from "./steps/methods.ts";
import { takesMethod } from "./steps/takes.ts";
import { taskMethod } from "./steps/task.ts";
import { uploadMethod } from "./steps/upload.ts";

/** What `build` gets: the parsed input, and the words. */
export interface Builder<I> extends StepMethods {
  readonly input: I;
}

export function stepMethods(recorder: Recorder): StepMethods {
  return {
    job: jobMethod(recorder),
    upload: uploadMethod(recorder),
    chat: chatMethod(recorder),
    task: taskMethod(recorder),
    approve: approveMethod(recorder),
    choose: chooseMethod(recorder),
    takes: takesMethod(recorder),
    expand: expandMethod(recorder, stepMethods),
    include: includeMethod(recorder, stepMethods),
  };
}
