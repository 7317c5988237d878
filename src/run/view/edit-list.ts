import { outputsOf, type RunState } from "../../journal/state.ts";
import { referencesOf, traitsOf } from "../../plan/index.ts";
import type { PlanStep, Reference } from "../../plan/plan.ts";
import { stepNamed } from "../../plan/plan-index.ts";
import { type ProducedOutput, referenced, returnedReferences } from "../resolve.ts";

type Ref = Reference["$ref"];

/** A result as an editor cuts it: what was chosen, and what it was chosen among. */
export interface EditClip {
  /** Path of the step that it stands for. */
  readonly name: string;
  readonly takes: readonly ProducedOutput[];
  /** Index in `takes` of the one that the run used. */
  readonly active: number;
}

/** A line that is shown, seconds of the film. */
export interface EditCaption {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** What a returned film was put together from, or the result itself where a model made it. */
export interface EditList {
  /** Its name in what the pipeline returns. */
  readonly name: string;
  /** In the order in which local functions took them. */
  readonly pictures: readonly EditClip[];
  readonly sounds: readonly EditClip[];
  /** What came of them; null where that is the one clip itself. */
  readonly finished: EditClip | null;
  readonly captions: readonly EditCaption[];
}

/** The lists of all returned media that have a copy, films first. */
export function editLists(state: RunState): readonly EditList[] {
  const { returns } = state.planned.plan;
  const lists = returnedReferences(returns).flatMap(({ name, ref }) => {
    const isMedia = ref.as !== "value" && clipOf(state, ref) !== null;
    return isMedia ? [editList(state, name, ref)] : [];
  });
  return [...lists.filter(isFilm), ...lists.filter((list) => !isFilm(list))];
}

const isFilm = ({ finished, pictures }: EditList) =>
  [finished, ...pictures].some((clip) => clip !== null && contentOf(clip).startsWith("video/"));

function editList(state: RunState, name: string, ref: Ref): EditList {
  const captions: EditCaption[] = [];
  const clips = partsOf(state, ref, captions, new Set());
  const whole = clipOf(state, ref)!;
  const isWhole = clips.length === 1 && clips[0]!.name === whole.name;
  return {
    name,
    pictures: clips.filter((clip) => !contentOf(clip).startsWith("audio/")),
    sounds: clips.filter((clip) => contentOf(clip).startsWith("audio/")),
    finished: isWhole ? null : whole,
    captions,
  };
}

/** What local functions put a result together from, down to what models made and people gave. */
function partsOf(state: RunState, ref: Ref, captions: EditCaption[], seen: Set<string>): readonly EditClip[] {
  const step = stepNamed(state.planned.plan, producerOf(state, ref));
  const own = clipOf(state, ref);
  if (step === undefined || own === null) return [];
  if (seen.has(step.path)) return [];
  seen.add(step.path);
  const media = isLocal(step) ? mediaOf(step) : [];
  if (media.length === 0) return [own];
  captions.push(...captionsIn(state.steps[step.path]?.value));
  const parts = media.flatMap((part) => partsOf(state, part, captions, seen));
  return parts.length === 0 ? [own] : parts;
}

/** A function of the pipeline's own: what it made has parts. */
function isLocal(step: PlanStep): boolean {
  const { needsCode, pricing, standsFor } = traitsOf(step);
  return needsCode && pricing.by === "nothing" && standsFor.length === 0;
}

function mediaOf(step: PlanStep): readonly Ref[] {
  return "input" in step ? referencesOf(step.input).filter(({ as }) => as === "asset" || as === "upload") : [];
}

function producerOf(state: RunState, ref: Ref): string {
  return referenced(state, ref)[0]?.step ?? ref.step;
}

/** Null where none of it has a copy here. Of a list it is the first. */
function clipOf(state: RunState, ref: Ref): EditClip | null {
  const [used] = referenced(state, ref).filter(({ output }) => output.copy !== null);
  if (used === undefined || !isMedia(used)) return null;
  const takes = takesOf(state, ref).filter((take) => take.output.copy !== null);
  const active = takes.findIndex(({ step, output }) => step === used.step && output.index === used.output.index);
  return active < 0 ? { name: ref.step, takes: [used], active: 0 } : { name: ref.step, takes, active };
}

/** What a step chose among; of another step, what it made. */
function takesOf(state: RunState, ref: Ref): readonly ProducedOutput[] {
  const step = stepNamed(state.planned.plan, ref.step);
  const among = step === undefined ? [] : traitsOf(step).standsFor;
  if (among.length === 0) return referenced(state, ref).slice(0, 1);
  return among.flatMap(({ $ref }) => {
    const chooser = stepNamed(state.planned.plan, $ref.step);
    const isChoice = chooser !== undefined && traitsOf(chooser).standsFor.length > 0;
    if (isChoice) return takesOf(state, $ref);
    const made = state.steps[$ref.step];
    return made === undefined ? [] : outputsOf(made).map((output) => ({ step: $ref.step, output }));
  });
}

export function contentOf({ takes, active }: EditClip): string {
  return takes[active]!.output.copy!.contentType;
}

function isMedia({ output }: ProducedOutput): boolean {
  return /^(?:image|video|audio)\//.test(output.copy?.contentType ?? "");
}

/** Lines that a function gave as its value: `{ cues: [{ start, end, text }] }`, as `caption` does. */
function captionsIn(value: unknown): readonly EditCaption[] {
  const cues = typeof value === "object" && value !== null && "cues" in value ? value.cues : null;
  if (!Array.isArray(cues)) return [];
  return cues.flatMap((cue: unknown): readonly EditCaption[] => {
    if (typeof cue !== "object" || cue === null || !("start" in cue && "end" in cue && "text" in cue)) return [];
    const { start, end, text } = cue;
    const isLine = typeof start === "number" && typeof end === "number" && end >= start && typeof text === "string";
    return isLine ? [{ start, end, text }] : [];
  });
}
