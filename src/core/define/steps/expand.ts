import type { Draft, DraftReference, Json, Yield } from "../../plan/plan.ts";
import { errorText, thrownProblem } from "../errors.ts";
import type { ExpandHandle, Handle, Value, ValuesHandle, Yields } from "../handle.ts";
import { expandHandle, pointerOf } from "../handle.ts";
import { type Recorder, startRecording } from "../recorder.ts";
import { OptionReader, readAmong, type StepOptions } from "./options.ts";
import { checkFunction, type LocalInput } from "./task.ts";

export interface ExpandOptions<Y extends Yields = Yields> extends StepOptions {
  /** Maximum number of steps that the function may add. If it adds more, the expansion fails. */
  readonly maxSteps: number;
  /**
   * Maximum total cost of the added steps, in US dollars as a decimal string. Default: the rest of the run's budget.
   */
  readonly maxCost?: string | undefined;
  /** The function's version. Change it when the function adds different steps for the same value. Default `"1"`. */
  readonly version?: string | undefined;
  /**
   * The kind of the results in the returned list. Later steps that use the list are checked and priced for this kind.
   * Required if the results are values.
   */
  readonly yields?: Sayable<Y> | undefined;
}

/** The kinds that `yields` may declare. If a step's model is untyped, it may declare any kind. */
type Sayable<Y extends Yields> = "unknown" extends Y ? Yield : Y & Yield;

type One<R> = R extends readonly (infer E)[] ? E : R;
type YieldsIn<R> = [One<R>] extends [never] ? "unknown" : One<R> extends Handle<infer Y> ? Y : "unknown";

export type Expanded<R> = [One<R>] extends [never]
  ? ExpandHandle<"unknown">
  : One<R> extends Value<infer T>
    ? ValuesHandle<T>
    : ExpandHandle<YieldsIn<R>>;

/**
 * Options for an expansion. `yields` is required for values, because nothing else distinguishes values from media
 * before the function has run.
 */
export type ExpandOptionsFor<R> = [YieldsIn<R>] extends ["value"]
  ? ExpandOptions<"value"> & { readonly yields: "value" }
  : ExpandOptions<YieldsIn<R>>;

/** The `expand` method. `M` is the type of the builder's methods. */
export interface ExpandMethod<M> {
  /**
   * Adds steps that depend on a value. Once the value exists, `steps` is called and adds the steps `<name>/…`. All of
   * them are planned, priced and journaled before the first one begins. The handle stands for the list that `steps`
   * returns.
   */
  <V extends Value | ValuesHandle, R extends Handle | readonly Handle[]>(
    name: string,
    value: V,
    steps: (value: LocalInput<V>, methods: M) => R,
    options: ExpandOptionsFor<R>,
  ): Expanded<R>;
}

const YIELDS: readonly Yield[] = ["image", "video", "audio", "text", "voice", "value"];

export function expandMethod<M>(recorder: Recorder, stepMethods: (recorder: Recorder) => M): ExpandMethod<M> {
  return <V extends Value | ValuesHandle, R extends Handle | readonly Handle[]>(
    name: string,
    value: V,
    steps: (value: LocalInput<V>, methods: M) => R,
    options: ExpandOptionsFor<R>,
  ) => {
    const path = recorder.path(name);
    const read = new OptionReader(options, path, recorder);
    read.only("an expansion", ["maxSteps", "maxCost", "version", "yields"]);
    checkFunction(steps, "steps", path, recorder);
    const maxCostMicros = read.usd("maxCost");
    if (maxCostMicros !== null) recorder.group(path, maxCostMicros);
    const version = read.string("version") ?? "1";
    recorder.add({
      kind: "expand",
      path,
      on: valueReference(value, path, recorder),
      maxSteps: read.count("maxSteps", { least: 1, most: 10_000, preset: Number.NaN }),
      version,
      yields: yieldsOf(read),
      maxCostMicros,
      after: read.after(),
      when: read.when(),
    });
    const expand = (known: Json) => draftOf(path, known as LocalInput<V>, steps, { recorder, stepMethods });
    recorder.bind(path, { kind: "expand", expand, version });
    const yields = (read.get("yields") ?? "unknown") as YieldsIn<R>;
    return expandHandle(path, yields, recorder.build) as Expanded<R>;
  };
}

function valueReference(value: unknown, step: string, recorder: Recorder): DraftReference | null {
  const pointer = pointerOf(value);
  if (pointer?.to === "step") {
    return recorder.json(value, { step, field: "value" }) as DraftReference | null;
  }
  const given =
    pointer?.to === "text" || pointer?.to === "input"
      ? "text that is known before the run, or that combines several values, cannot be expanded; "
      : "";
  const message = `${given}expand accepts only the value of one step, such as a chat's answer; for values known in advance, use a plain loop`;
  recorder.report({ code: "not-a-value", step, field: "value", message });
  return null;
}

function yieldsOf(read: OptionReader): Yield | null {
  const given = read.get("yields");
  if (given === undefined) return null;
  const known = YIELDS.find((kind) => kind === given);
  if (known === undefined) read.bad("yields", `\`yields\` must be one of ${YIELDS.join(", ")}`);
  return known ?? null;
}

function draftOf<T, M>(
  path: string,
  value: T,
  steps: (value: T, methods: M) => unknown,
  outer: { readonly recorder: Recorder; readonly stepMethods: (recorder: Recorder) => M },
): Draft {
  const { build, onFailure, prune } = outer.recorder;
  const recording = startRecording({ prefix: `${path}/`, within: build, onFailure, prune });
  let returns: readonly DraftReference[] = [];
  try {
    const returned: unknown = steps(value, outer.stepMethods(recording));
    if (returned instanceof Promise) {
      returned.catch(() => undefined);
      throw new TypeError("the function is async; add all steps synchronously, and do slow work in a task");
    }
    returns = readAmong(returned, { step: path, field: "returns" }, recording);
  } catch (error) {
    const problem = `the function threw an error for this value: ${errorText(error)}`;
    recording.report(thrownProblem(error, { code: "build", step: path, field: null, message: problem }));
  } finally {
    recording.close();
  }
  const { steps: drafted, problems, functions, groups, parts } = recording;
  return {
    pipeline: path,
    steps: drafted,
    problems,
    functions,
    groups,
    parts,
    returns,
    parsedInput: null,
    onFailure: null,
  };
}
