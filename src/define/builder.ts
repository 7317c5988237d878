import type { Recorder } from "./recorder.ts";
import { approveWord } from "./words/approve.ts";
import { chatWord } from "./words/chat.ts";
import { chooseWord } from "./words/choose.ts";
import { expandWord } from "./words/expand.ts";
import { includeWord } from "./words/include.ts";
import { jobWord } from "./words/job.ts";
import { takesWord } from "./words/takes.ts";
import { taskWord } from "./words/task.ts";
import { uploadWord } from "./words/upload.ts";
import type { Words } from "./words/words.ts";

/** What `build` gets: the parsed input, and the words. */
export interface Builder<I> extends Words {
  readonly input: I;
}

export function wordsOf(recorder: Recorder): Words {
  return {
    job: jobWord(recorder),
    upload: uploadWord(recorder),
    chat: chatWord(recorder),
    task: taskWord(recorder),
    approve: approveWord(recorder),
    choose: chooseWord(recorder),
    takes: takesWord(recorder),
    expand: expandWord(recorder, wordsOf),
    include: includeWord(recorder, wordsOf),
  };
}
