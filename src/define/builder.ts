import type { Recorder } from "./recorder.ts";
import { type JobWord, jobWord } from "./words/job.ts";
import { type UploadWord, uploadWord } from "./words/upload.ts";

/** The words that add steps. A new kind of step registers its word here and in {@link wordsOf}. */
export interface Words {
  readonly job: JobWord;
  readonly upload: UploadWord;
}

/** What `build` gets: the parsed input, and the words. */
export interface Builder<I> extends Words {
  readonly input: I;
}

export function wordsOf(recorder: Recorder): Words {
  return { job: jobWord(recorder), upload: uploadWord(recorder) };
}
