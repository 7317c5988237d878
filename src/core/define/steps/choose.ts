import type { Candidate, DraftReference, PickDraft, Requirement } from "../../plan/draft.ts";
import type { FailurePolicy } from "../../plan/plan.ts";
import type { Handle, Value, ValueHandle, ValuesHandle } from "../handle.ts";
import { chosenHandle, valueHandle } from "../handle-value.ts";
import type { Recorder } from "../recorder.ts";
import { OptionReader, readAmong, type StepOptions } from "./options.ts";

/** Gives a result a number; the highest is chosen. */
export type Scorer = (candidate: Candidate) => number | Promise<number>;

/** Who chooses: a person, the order (the first that succeeded), or a function that scores each one. */
export type ChosenBy = "person" | "first" | Scorer;

export interface ChooseOptions extends StepOptions {
  readonly by: ChosenBy;
  /** Of a scoring function: change it when it is to choose by something else. Default `"1"`. */
  readonly version?: string | undefined;
  /** Looks whether the machine has what the function needs, as that of a task does. */
  readonly requires?: Requirement | undefined;
  /** The question to the person. */
  readonly message?: string | undefined;
}

/** The handle of one of several results. */
export type Chosen<H extends Handle> = [H["yields"]] extends ["value"]
  ? ValueHandle<ValueIn<H>>
  : Handle<H["yields"], "single">;

export type ValueIn<H> = H extends Value<infer T> ? T : H extends ValuesHandle<infer T> ? T : never;

export interface ChooseMethod {
  /**
   * Chooses one of several results of one kind, given as handles or as a list handle; the others stay in the run and cost
   * what they cost.
   */
  <H extends Handle>(name: string, among: H | readonly H[], options: ChooseOptions): Chosen<H>;
}

export function chooseMethod(recorder: Recorder): ChooseMethod {
  return <H extends Handle>(name: string, among: H | readonly H[], options: ChooseOptions) => {
    const path = recorder.path(name);
    const read = new OptionReader(options, path, recorder);
    read.only("a choice", ["by", "version", "requires", "message"]);
    const references = readAmong(among, { step: path, field: "among" }, recorder);
    if (Array.isArray(among) && among.length === 0) {
      const message = "there is nothing to choose from; give a list handle, or several handles";
      recorder.report({ code: "required", step: path, field: "among", message });
    }
    addChoice(recorder, path, references, { read, by: read.get("by") });
    const first: Handle | undefined = Array.isArray(among) ? among[0] : (among as Handle);
    const { build } = recorder;
    const created =
      first?.yields === "value" ? valueHandle(path, build) : chosenHandle(path, first?.yields ?? "unknown", build);
    return created as Handle as Chosen<H>;
  };
}

interface Choice {
  readonly read: OptionReader;
  readonly by: unknown;
  readonly field?: string;
}

/** A choice asks for no number of results. */
export function choiceFailure(policy: FailurePolicy | null | undefined): Pick<PickDraft, "onFailure"> {
  return typeof policy === "string" ? { onFailure: policy } : {};
}

/** Adds the step that chooses, by whoever does. */
export function addChoice(
  recorder: Recorder,
  path: string,
  among: readonly DraftReference[],
  { read, by, field = "by" }: Choice,
): void {
  const base = { path, after: read.after(), when: read.when() };
  const policy = choiceFailure(recorder.onFailure);
  const message = read.string("message");
  const version = read.string("version") ?? "1";
  if (by === "person") return recorder.add({ kind: "approve", ...base, shows: among, choose: true, message });
  if (typeof by === "function") {
    const requires = read.get("requires") as Requirement | undefined;
    if (requires !== undefined && typeof requires !== "function") read.bad("requires", "requires is no function");
    recorder.bind(path, { kind: "score", score: by as Scorer, version, ...(requires && { requires }) });
    return recorder.add({ kind: "pick", ...base, ...policy, among, by: "score", version, second: null });
  }
  if (by !== "first") read.bad(field, 'choose by "person", "first" or a function that gives each one a score');
  recorder.add({ kind: "pick", ...base, ...policy, among, by: "first", version: null, second: null });
}
