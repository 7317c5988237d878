import type { DraftReference } from "../../plan/draft.ts";
import type { Handle, Yields } from "../handle.ts";
import { chosenHandle, isListPointer, pointerOf, valueHandle } from "../handle-value.ts";
import type { Recorder } from "../recorder.ts";

export type One = Handle<Yields, "single">;

/** Adds the steps of one part with the methods it gets, and returns its result. `M`: those methods. */
export type PartOf<M, H extends One = One> = (methods: M) => H;

export interface AddedPart {
  /** Its steps are under it. */
  readonly path: string;
  readonly reference: DraftReference;
  readonly yields: Yields;
}

interface Within<M> {
  readonly name: string | number;
  /** What its author calls it, and the field that it was given in. */
  readonly word: string;
  readonly field: string;
  /** The part of all of them, and the one around it. */
  readonly part: Recorder & { readonly prefix: string };
  readonly recorder: Recorder;
  readonly stepMethods: (recorder: Recorder) => M;
  readonly defaults: Parameters<Recorder["part"]>[1];
}

/** Adds one of several parts that stand for each other: nothing outside uses what is inside of it but its one result. */
export function addPart<M>(build: PartOf<M>, within: Within<M>): AddedPart {
  const { name, word, field, part, recorder, stepMethods, defaults } = within;
  const before = recorder.under("").length;
  const inner = part.part(name, { ...defaults, isClosed: true });
  const path = part.path(name);
  const bad = (message: string) => recorder.report({ code: "bad-option", step: path, field, message });
  const handle: Handle | undefined = build(stepMethods(inner));
  const added = inner.under(inner.prefix);
  const elsewhere = recorder.under("").length - before - added.length;
  if (elsewhere > 0) bad(`adds steps outside of itself; use the methods that the ${word} gets: (b) => b.job(…)`);
  const pointer = pointerOf(handle);
  const isOwn = pointer?.to === "step" && !isListPointer(pointer) && added.includes(pointer.step);
  if (!isOwn) bad("must return the handle of one result that its own steps make");
  const none: DraftReference = { $ref: { step: added.at(-1) ?? path, output: "single" } };
  const reference = isOwn ? (inner.json(handle, { step: path, field }) as DraftReference) : none;
  return { path, reference, yields: handle?.yields ?? "unknown" };
}

/** The handle of the step that one of several parts is taken by. */
export function chosenOf(parts: readonly AddedPart[], step: string, { build }: Recorder): Handle {
  const yields = parts.find((entry) => entry.yields !== "unknown")?.yields ?? "unknown";
  return yields === "value" ? valueHandle(step, build) : chosenHandle(step, yields, build);
}
