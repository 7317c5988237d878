import type { ApproveWord } from "./approve.ts";
import type { ChatWord } from "./chat.ts";
import type { ChooseWord } from "./choose.ts";
import type { ExpandWord } from "./expand.ts";
import type { IncludeWord } from "./include.ts";
import type { JobWord } from "./job.ts";
import type { TakesWord } from "./takes.ts";
import type { TaskWord } from "./task.ts";
import type { UploadWord } from "./upload.ts";

/** The words that add steps. A new kind of step registers its word here and in `wordsOf`. */
export interface Words {
  readonly job: JobWord;
  readonly upload: UploadWord;
  readonly chat: ChatWord;
  readonly task: TaskWord;
  readonly approve: ApproveWord;
  readonly choose: ChooseWord;
  readonly takes: TakesWord;
  readonly expand: ExpandWord;
  readonly include: IncludeWord;
}
