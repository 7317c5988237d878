import type { PickDraft } from "../../plan/kinds/pick.ts";
import type { Candidate, DraftReference, FailurePolicy, Requirement } from "../../plan/plan.ts";
import {
  chosenHandle,
  type Handle,
  isListPointer,
  pointerOf,
  type Value,
  type ValueHandle,
  type ValuesHandle,
  valueHandle,
  type Yields,
} from "../handle.ts";
import type { Recorder } from "../recorder.ts";
import { OptionReader, readAmong, type StepOptions } from "./options.ts";

/** Scores a result. The result with the highest score is chosen. */
export type Scorer = (candidate: Candidate) => number | Promise<number>;

/**
 * How a result is chosen: by a person, by order (the first that succeeded), or by a function that scores each result.
 */
export type ChosenBy = "person" | "first" | Scorer;

export interface ChooseOptions extends StepOptions {
  /** Who or what chooses. */
  readonly by: ChosenBy;
  /** The scoring function's version. Change it when the function changes. Default `"1"`. */
  readonly version?: string | undefined;
  /** Checks whether this machine can run the function, like a task's `requires`. */
  readonly requires?: Requirement | undefined;
  /** The question for the person. Default: none. */
  readonly message?: string | undefined;
}

export type Chosen<H extends Handle> = [H["yields"]] extends ["value"]
  ? ValueHandle<ValueIn<H>>
  : Handle<H["yields"], "single">;

export type ValueIn<H> = H extends Value<infer T> ? T : H extends ValuesHandle<infer T> ? T : never;

export interface ChooseMethod {
  /**
   * Adds a step that chooses one of several results of the same kind. `among` is a list of handles or a list handle.
   * Results that are not chosen stay in the run and are still paid for.
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
      const message = "there is nothing to choose from; pass a list handle, or several handles";
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

/** Returns the `onFailure` field for a choice. Omits it if the policy is a quorum, which a choice cannot have. */
export function choiceFailure(policy: FailurePolicy | null | undefined): Pick<PickDraft, "onFailure"> {
  return typeof policy === "string" ? { onFailure: policy } : {};
}

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
    if (requires !== undefined && typeof requires !== "function") read.bad("requires", "`requires` must be a function");
    recorder.bind(path, { kind: "score", score: by as Scorer, version, ...(requires && { requires }) });
    return recorder.add({ kind: "pick", ...base, ...policy, among, by: "score", version, second: null });
  }
  if (by !== "first") read.bad(field, 'choose by "person", by "first", or by a function that scores each candidate');
  recorder.add({ kind: "pick", ...base, ...policy, among, by: "first", version: null, second: null });
}

export type One = Handle<Yields, "single">;

/** A function that adds the steps of an option and returns its result. `M` is the type of the builder's methods. */
export type PartOf<M, H extends One = One> = (methods: M) => H;

interface AddedPart {
  readonly path: string;
  readonly reference: DraftReference;
  readonly yields: Yields;
}

interface Within<M> {
  readonly name: string | number;
  readonly word: string;
  readonly field: string;
  readonly part: Recorder & { readonly prefix: string };
  readonly recorder: Recorder;
  readonly stepMethods: (recorder: Recorder) => M;
  readonly defaults: Parameters<Recorder["part"]>[1];
}

export function addPart<M>(build: PartOf<M>, within: Within<M>): AddedPart {
  const { name, word, field, part, recorder, stepMethods, defaults } = within;
  const before = recorder.under("").length;
  const inner = part.part(name, { ...defaults, isClosed: true });
  const path = part.path(name);
  const bad = (message: string) => recorder.report({ code: "bad-option", step: path, field, message });
  const handle: Handle | undefined = build(stepMethods(inner));
  const added = inner.under(inner.prefix);
  const elsewhere = recorder.under("").length - before - added.length;
  if (elsewhere > 0)
    bad(`the ${word} adds steps with the outer builder; use the builder that it receives: (b) => b.job(…)`);
  const pointer = pointerOf(handle);
  const isOwn = pointer?.to === "step" && !isListPointer(pointer) && added.includes(pointer.step);
  if (!isOwn) bad(`the ${word} must return the handle of one result, from a step that was added inside the ${word}`);
  const none: DraftReference = { $ref: { step: added.at(-1) ?? path, output: "single" } };
  const reference = isOwn ? (inner.json(handle, { step: path, field }) as DraftReference) : none;
  return { path, reference, yields: handle?.yields ?? "unknown" };
}

export function chosenOf(parts: readonly AddedPart[], step: string, { build }: Recorder): Handle {
  const yields = parts.find((entry) => entry.yields !== "unknown")?.yields ?? "unknown";
  return yields === "value" ? valueHandle(step, build) : chosenHandle(step, yields, build);
}

interface CompareOptions extends Pick<StepOptions, "after"> {
  /** The question for the person. Default: none. */
  readonly message?: string | undefined;
  /** Maximum total cost of all alternatives, in US dollars as a decimal string. Default: the rest of the run's budget. */
  readonly maxCost?: string | undefined;
}

/** The kinds of the compared results. `unknown` is included only if no kind is known. */
type Known<Y extends Yields> = [Exclude<Y, "unknown">] extends [never] ? "unknown" : Exclude<Y, "unknown">;

/** The handle of the chosen result. If the results are of several kinds, this type is an error message instead. */
type Compared<H extends One> =
  true extends Several<Known<H["yields"]>>
    ? "all options in a comparison must produce the same kind of result"
    : [Known<H["yields"]>] extends ["value"]
      ? ValueHandle<ValueIn<H>>
      : Handle<Known<H["yields"]>, "single">;

type Several<Y, All = Y> = Y extends unknown ? ([All] extends [Y] ? false : true) : never;

type Parts<M> = { readonly [name: string]: PartOf<M> };
type MadeBy<P extends Parts<never>> = ReturnType<P[keyof P]>;

export interface CompareMethod<M> {
  /**
   * Runs several alternatives, such as the same job on different models, and lets a person pick one of the results. The
   * handle stands for the picked result. The steps are `<name>/<alternative>/…` and `<name>/pick`. If an alternative
   * fails, it is left out of the choice, as long as another one has a result.
   */
  <P extends Parts<M>>(name: string, parts: P, options?: CompareOptions): Compared<MadeBy<P>>;
}

/** The maximum number of alternatives. A person cannot compare more. */
const MOST_PARTS = 20;

export function compareMethod<M>(recorder: Recorder, stepMethods: (recorder: Recorder) => M): CompareMethod<M> {
  return <P extends Parts<M>>(name: string, given: unknown, options?: CompareOptions) => {
    const path = recorder.path(name);
    const read = new OptionReader(options, path, recorder);
    read.only("compare", ["message", "maxCost"], ["after"]);
    const maxCostMicros = read.usd("maxCost");
    if (maxCostMicros !== null) recorder.group(path, maxCostMicros);
    const part = recorder.part(name, { after: read.after() });
    const common = {
      word: "alternative",
      field: "parts",
      part,
      recorder,
      stepMethods,
      defaults: { onFailure: "continue" },
    } as const;
    const added = readParts<M>(given, read).map(([partName, build]) => addPart(build, { ...common, name: partName }));
    const pick = part.path("pick");
    part.add({
      kind: "approve",
      path: pick,
      shows: added.map(({ reference }) => reference),
      choose: true,
      message: read.string("message"),
      parts: added.map((entry) => entry.path),
      after: [],
      when: null,
    });
    return chosenOf(added, pick, recorder) as Compared<MadeBy<P>>;
  };
}

function readParts<M>(given: unknown, read: OptionReader): readonly (readonly [string, PartOf<M>])[] {
  const isRecord = typeof given === "object" && given !== null && !Array.isArray(given);
  const parts = isRecord ? Object.entries(given) : [];
  const isWhole = parts.every(([, build]) => typeof build === "function");
  if (isWhole && parts.length >= 2 && parts.length <= MOST_PARTS) return parts as [string, PartOf<M>][];
  read.bad(
    "parts",
    `give 2 to ${MOST_PARTS} alternatives by name, such as { fast: (b) => b.job(…), fine: (b) => b.job(…) }`,
  );
  return [];
}

interface FirstOfOptions extends Pick<StepOptions, "after"> {
  /**
   * What to do if moderation refuses an option: try the next option (`"next"`) or stop trying (`"stop"`). Default
   * `"stop"`.
   */
  readonly onModerated?: "stop" | "next" | undefined;
  /**
   * How long to wait for an unavailable service, in milliseconds, before the next option begins. Jobs that were already
   * sent are not abandoned. Default: no limit.
   */
  readonly awayMs?: number | undefined;
  /** Maximum total cost of all options, in US dollars as a decimal string. Default: the rest of the run's budget. */
  readonly maxCost?: string | undefined;
}

/** A result of the same kind as `H`. An unknown kind fits every kind. */
type Agreeing<H extends One> =
  H extends Value<infer T> ? Value<T> : "unknown" extends H["yields"] ? One : Handle<H["yields"] | "unknown", "single">;

export interface FirstOfMethod<M> {
  /**
   * Adds options in order. The handle stands for the result of the first option that succeeds. The steps are
   * `<name>/1/…`, `<name>/2/…` and `<name>/pick`. Normally, an option starts only after the previous option has ended
   * and is known to have cost nothing. But if a step of the previous option exceeds its `within`, the next option
   * starts alongside it, and you may pay for both.
   */
  <H extends One>(
    name: string,
    options: readonly [PartOf<M, H>, ...PartOf<M, Agreeing<NoInfer<H>>>[]],
    settings?: FirstOfOptions,
  ): Chosen<H>;
  <H extends One>(name: string, options: readonly PartOf<M, H>[], settings?: FirstOfOptions): Chosen<H>;
}

/**
 * The maximum number of options. Each option waits for all options before it, so the number of dependencies grows
 * quadratically.
 */
const MOST_OPTIONS = 20;

export function firstOfMethod<M>(recorder: Recorder, stepMethods: (recorder: Recorder) => M): FirstOfMethod<M> {
  return <H extends One>(name: string, options: readonly PartOf<M>[], settings?: FirstOfOptions) => {
    const path = recorder.path(name);
    const read = new OptionReader(settings, path, recorder);
    read.only("firstOf", ["onModerated", "awayMs", "maxCost"], ["after"]);
    const maxCostMicros = read.usd("maxCost");
    if (maxCostMicros !== null) recorder.group(path, maxCostMicros);
    const part = recorder.part(name, { after: read.after() });
    const results = readOptions(options, read).map((option, index, { length }) => {
      // No step of an option begins before all earlier options have ended or are late. An option's failure must not
      // stop the run while another option remains.
      const defaults = {
        after: part.under(part.prefix),
        ...(index < length - 1 && { onFailure: "continue" as const }),
      };
      const common = { word: "option", field: "options", part, recorder, stepMethods };
      return addPart(option, { ...common, name: index + 1, defaults });
    });
    const pick = part.path("pick");
    part.add({
      kind: "pick",
      path: pick,
      after: [],
      when: null,
      among: results.map(({ reference }) => reference),
      by: "first",
      version: null,
      ...choiceFailure(recorder.onFailure),
      second: {
        options: results.map(({ path }) => path),
        afterModeration: moderationOf(read),
        awayMs: read.milliseconds("awayMs"),
        out: [],
      },
    });
    return chosenOf(results, pick, recorder) as Chosen<H>;
  };
}

function readOptions<M>(given: readonly PartOf<M>[], read: OptionReader): readonly PartOf<M>[] {
  const isList = Array.isArray(given) && given.every((option) => typeof option === "function");
  if (isList && given.length >= 1 && given.length <= MOST_OPTIONS) return given;
  read.bad("options", `give a list of 1 to ${MOST_OPTIONS} functions such as (b) => b.job(…)`);
  return [];
}

function moderationOf(read: OptionReader): boolean {
  const choice = read.get("onModerated") ?? "stop";
  if (choice !== "stop" && choice !== "next") read.bad("onModerated", 'onModerated must be "stop" or "next"');
  return choice === "next";
}
