import type { ApproveMethod } from "./approve.ts";
import type { ChatMethod } from "./chat.ts";
import type { ChooseMethod } from "./choose.ts";
import type { ExpandMethod } from "./expand.ts";
import type { IncludeMethod } from "./include.ts";
import type { JobMethod } from "./job.ts";
import type { TakesMethod } from "./takes.ts";
import type { TaskMethod } from "./task.ts";
import type { UploadMethod } from "./upload.ts";

/** The words that add steps. A new kind of step registers its word here and in `wordsOf`. */
export interface StepMethods {
  readonly job: JobMethod;
  readonly upload: UploadMethod;
  readonly chat: ChatMethod;
  readonly task: TaskMethod;
  readonly approve: ApproveMethod;
  readonly choose: ChooseMethod;
  readonly takes: TakesMethod;
  readonly expand: ExpandMethod;
  readonly include: IncludeMethod;
}
