import type { DraftReference } from "../draft.ts";
import type { Handle, Yields } from "../handle.ts";
import { chosenHandle } from "../handle-value.ts";
import type { Candidate } from "../local-function.ts";
import type { Recorder } from "../recorder.ts";
import { readAmong } from "./among.ts";
import { OptionReader, type StepOptions } from "./options.ts";

/** Gives a result a number; the highest is chosen. */
export type Scorer = (candidate: Candidate) => number | Promise<number>;

/** Who chooses: a person, the order (the first that was made), or a function that gives each one a score. */
export type ChosenBy = "person" | "first" | Scorer;

export interface ChooseOptions extends StepOptions {
  readonly by: ChosenBy;
  /** Of a scoring function: change it when it is to choose by something else. Default `"1"`. */
  readonly version?: string | undefined;
  /** What a person is asked. */
  readonly message?: string | undefined;
}

/** What can be chosen from: media and voices. */
export type Choosable = Exclude<Yields, "value">;

/** Chooses one of several results; the others stay in the run and cost what they cost. */
export type ChooseWord = <Y extends Choosable>(
  name: string,
  among: Handle<Y, "list"> | readonly Handle<Y>[],
  options: ChooseOptions,
) => Handle<Y, "single">;

export function chooseWord(recorder: Recorder): ChooseWord {
  return <Y extends Choosable>(
    name: string,
    among: Handle<Y, "list"> | readonly Handle<Y>[],
    options: ChooseOptions,
  ) => {
    const path = recorder.path(name);
    const read = new OptionReader(options, path, recorder);
    read.only("a choice", ["by", "version", "message"]);
    const references = readAmong(among, { step: path, field: "among" }, recorder);
    if (Array.isArray(among) && among.length === 0) {
      const message = "there is nothing to choose from; give a list handle, or several handles";
      recorder.report({ code: "required", step: path, field: "among", message });
    }
    addChoice(recorder, path, references, { read, by: read.get("by") });
    const first: Handle<Y> | undefined = Array.isArray(among) ? among[0] : (among as Handle<Y, "list">);
    return chosenHandle(path, first?.yields ?? ("unknown" as Y), recorder.build);
  };
}

/** Adds the step that chooses, by whoever does. */
export function addChoice(
  recorder: Recorder,
  path: string,
  among: readonly DraftReference[],
  { read, by }: { readonly read: OptionReader; readonly by: unknown },
): void {
  const base = { path, after: read.after(), when: read.when() };
  const message = read.string("message");
  const version = read.string("version") ?? "1";
  if (by === "person") return recorder.add({ kind: "approve", ...base, shows: among, choose: true, message });
  if (typeof by === "function") {
    recorder.bind(path, { kind: "score", score: by as Scorer });
    return recorder.add({ kind: "pick", ...base, among, by: "score", version });
  }
  if (by !== "first") read.bad("by", 'choose by "person", "first" or a function that gives each one a score');
  recorder.add({ kind: "pick", ...base, among, by: "first", version: null });
}
