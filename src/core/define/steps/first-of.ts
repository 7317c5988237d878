import type { Handle, Value } from "../handle.ts";
import type { Recorder } from "../recorder.ts";
import { type Chosen, choiceFailure } from "./choose.ts";
import { addPart, chosenOf, type One, type PartOf } from "./closed-part.ts";
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

/** A result of the same kind. One of a model that is only an id is of any kind. */
type Agreeing<H extends One> =
  H extends Value<infer T> ? Value<T> : "unknown" extends H["yields"] ? One : Handle<H["yields"] | "unknown", "single">;

export interface FirstOfMethod<M> {
  /**
   * The first of several options that can be made: steps `<name>/1/…`, `<name>/2/…` and `<name>/pick`. A later one begins
   * only once the one before ended and certainly nothing was paid for what failed, never while an answer is unknown; or
   * beside it, where a step of it is not there `within` its time: then both may be paid for.
   */
  <H extends One>(
    name: string,
    options: readonly [PartOf<M, H>, ...PartOf<M, Agreeing<NoInfer<H>>>[]],
    settings?: FirstOfOptions,
  ): Chosen<H>;
  <H extends One>(name: string, options: readonly PartOf<M, H>[], settings?: FirstOfOptions): Chosen<H>;
}

/** More than enough; each waits for all before it. */
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
      // Nothing of an option begins before all of the options before it ended, or were late. Its failure must not stop the
      // run that has a second choice.
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
  if (choice !== "stop" && choice !== "next") read.bad("onModerated", 'onModerated is neither "stop" nor "next"');
  return choice === "next";
}
