import type { Handle, ValueHandle, Yields } from "../handle.ts";
import type { Recorder } from "../recorder.ts";
import type { ValueIn } from "./choose.ts";
import { addPart, chosenOf, type One, type PartOf } from "./closed-part.ts";
import { OptionReader, type StepOptions } from "./options.ts";

export interface CompareOptions extends Pick<StepOptions, "after"> {
  /** The question to the person. */
  readonly message?: string | undefined;
  /** The most that all parts may cost together, a decimal of US dollars. Default: what is left of the run's budget. */
  readonly maxCost?: string | undefined;
}

/** What is compared has one kind; a model that is only an id is of any. */
type Known<Y extends Yields> = [Exclude<Y, "unknown">] extends [never] ? "unknown" : Exclude<Y, "unknown">;

/** Of parts that make several kinds it is what is wrong with them, and no handle. */
type Compared<H extends One> =
  true extends Several<Known<H["yields"]>>
    ? "the parts of a comparison make one kind of result"
    : [Known<H["yields"]>] extends ["value"]
      ? ValueHandle<ValueIn<H>>
      : Handle<Known<H["yields"]>, "single">;

type Several<Y, All = Y> = Y extends unknown ? ([All] extends [Y] ? false : true) : never;

type Parts<M> = { readonly [name: string]: PartOf<M> };
type MadeBy<P extends Parts<never>> = ReturnType<P[keyof P]>;

export interface CompareMethod<M> {
  /**
   * The same brief by several models, side by side: all parts are made, and a person chooses the one that the handle stands
   * for. Steps `<name>/<part>/…` and `<name>/pick`. A part that fails is left out as long as another one made something.
   */
  <P extends Parts<M>>(name: string, parts: P, options?: CompareOptions): Compared<MadeBy<P>>;
}

/** More than a person can hold side by side. */
const MOST_PARTS = 20;

export function compareMethod<M>(recorder: Recorder, stepMethods: (recorder: Recorder) => M): CompareMethod<M> {
  return <P extends Parts<M>>(name: string, given: unknown, options?: CompareOptions) => {
    const path = recorder.path(name);
    const read = new OptionReader(options, path, recorder);
    read.only("compare", ["message", "maxCost"], ["after"]);
    const maxCostMicros = read.usd("maxCost");
    if (maxCostMicros !== null) recorder.group(path, maxCostMicros);
    const part = recorder.part(name, { after: read.after() });
    // One that fails is no reason to stop what it is compared with.
    const common = {
      word: "part",
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
  read.bad("parts", `give 2 to ${MOST_PARTS} parts by name, such as { fast: (b) => b.job(…), fine: (b) => b.job(…) }`);
  return [];
}
