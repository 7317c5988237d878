import type { DraftReference } from "../../plan/draft.ts";
import type { Handle, Value, Yields } from "../handle.ts";
import { chosenHandle, isListPointer, pointerOf, valueHandle } from "../handle-value.ts";
import type { Recorder } from "../recorder.ts";
import type { Chosen } from "./choose.ts";
import { OptionReader, type StepOptions } from "./options.ts";

export interface FirstOfOptions extends Pick<StepOptions, "after"> {
  /** `"next"`: an option that moderation refused lets the next one begin. Default `"stop"`: nothing follows it by itself. */
  readonly onModerated?: "stop" | "next" | undefined;
  /**
   * How long the service may be away, milliseconds, before a job that was never sent gives way to the next option.
   * Default: the run waits for the service.
   */
  readonly awayMs?: number | undefined;
  /** The most that all options may cost together, a decimal of US dollars. Default: what is left of the run's budget. */
  readonly maxCost?: string | undefined;
}

type One = Handle<Yields, "single">;

/** Adds the steps of one option with the methods it gets, and returns its result. `M`: those methods. */
type FirstOfOption<M, H extends One = One> = (methods: M) => H;

/** A result of the same kind. One of a model that is only an id is of any kind. */
type Agreeing<H extends One> =
  H extends Value<infer T> ? Value<T> : "unknown" extends H["yields"] ? One : Handle<H["yields"] | "unknown", "single">;

export interface FirstOfMethod<M> {
  /**
   * The first of several options that can be made: steps `<name>/1/…`, `<name>/2/…` and `<name>/pick`. A later one begins
   * only once the one before ended and certainly nothing was paid for what failed, never while an answer is unknown.
   */
  <H extends One>(
    name: string,
    options: readonly [FirstOfOption<M, H>, ...FirstOfOption<M, Agreeing<NoInfer<H>>>[]],
    settings?: FirstOfOptions,
  ): Chosen<H>;
  <H extends One>(name: string, options: readonly FirstOfOption<M, H>[], settings?: FirstOfOptions): Chosen<H>;
}

/** More than enough; each waits for all before it. */
const MOST_OPTIONS = 20;

export function firstOfMethod<M>(recorder: Recorder, stepMethods: (recorder: Recorder) => M): FirstOfMethod<M> {
  return <H extends One>(name: string, options: readonly FirstOfOption<M>[], settings?: FirstOfOptions) => {
    const path = recorder.path(name);
    const read = new OptionReader(settings, path, recorder);
    read.only("firstOf", ["onModerated", "awayMs", "maxCost"], ["after"]);
    const maxCostMicros = read.usd("maxCost");
    if (maxCostMicros !== null) recorder.group(path, maxCostMicros);
    const part = recorder.part(name, { after: read.after() });
    const results = readOptions(options, read).map((option, index, { length }) => {
      return addOption(option, { name: index + 1, isLast: index === length - 1, part, recorder, stepMethods });
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
      second: {
        options: results.map(({ option }) => option),
        afterModeration: moderationOf(read),
        awayMs: read.milliseconds("awayMs"),
        out: [],
      },
    });
    const { build } = recorder;
    const yields = results.find((one) => one.yields !== "unknown")?.yields ?? "unknown";
    const created = yields === "value" ? valueHandle(pick, build) : chosenHandle(pick, yields, build);
    return created as Handle as Chosen<H>;
  };
}

interface Added {
  /** Its path: its steps are under it. */
  readonly option: string;
  readonly reference: DraftReference;
  readonly yields: Yields;
}

interface Within<M> {
  readonly name: number;
  readonly isLast: boolean;
  /** The part of all options, and the one around it. */
  readonly part: Recorder & { readonly prefix: string };
  readonly recorder: Recorder;
  readonly stepMethods: (recorder: Recorder) => M;
}

/** Nothing of an option begins before all of the options before it ended, and nothing outside uses what is inside of it. */
function addOption<M>(option: FirstOfOption<M>, { name, isLast, part, recorder, stepMethods }: Within<M>): Added {
  const before = recorder.under("").length;
  const after = part.under(part.prefix);
  // Its failure must not stop the run that has a second choice.
  const inner = part.part(name, { after, isClosed: true, ...(!isLast && { onFailure: "continue" as const }) });
  const path = part.path(name);
  const bad = (message: string) => recorder.report({ code: "bad-option", step: path, field: "options", message });
  const handle: Handle | undefined = option(stepMethods(inner));
  const added = inner.under(inner.prefix);
  const elsewhere = recorder.under("").length - before - added.length;
  if (elsewhere > 0) bad("adds steps outside of itself; use the methods that the option gets: (b) => b.job(…)");
  const pointer = pointerOf(handle);
  const isOwn = pointer?.to === "step" && !isListPointer(pointer) && added.includes(pointer.step);
  if (!isOwn) bad("must return the handle of one result that its own steps make");
  const none: DraftReference = { $ref: { step: added.at(-1) ?? path, output: "single" } };
  const reference = isOwn ? (inner.json(handle, { step: path, field: "options" }) as DraftReference) : none;
  return { option: path, reference, yields: handle?.yields ?? "unknown" };
}

function readOptions<M>(given: readonly FirstOfOption<M>[], read: OptionReader): readonly FirstOfOption<M>[] {
  const isList = Array.isArray(given) && given.every((option) => typeof option === "function");
  if (isList && given.length >= 1 && given.length <= MOST_OPTIONS) return given;
  read.bad("options", `give a list of 1 to ${MOST_OPTIONS} functions such as (b) => b.job(…)`);
  return [];
}

function moderationOf(read: OptionReader): boolean {
  const said = read.get("onModerated") ?? "stop";
  if (said !== "stop" && said !== "next") read.bad("onModerated", 'onModerated is neither "stop" nor "next"');
  return said === "next";
}
