import type { StoredCopy } from "../journal/events.ts";
import { type OutputState, outputsOf, type RunState } from "../journal/state.ts";
import { isReference, traitsOf } from "../plan/index.ts";
import { type Json, type PlanStep, type Reference, stepNamed } from "../plan/plan.ts";
import { chosenUpload, type ProducedOutput, referenced } from "../run/resolve.ts";
import { returnedReferences } from "../run/returned.ts";

type Ref = Reference["$ref"];

/** A model's output, or a file that a person supplied. */
export interface EditTake {
  readonly step: string;
  readonly output: Pick<OutputState, "index" | "copy" | "durationMs" | "fps">;
}

/** A clip for a video editor: a result and the alternatives to it. */
export interface EditClip {
  readonly name: string;
  readonly takes: readonly EditTake[];
  /** Index in `takes` of the take that the run used. */
  readonly active: number;
}

/** The clips that a returned result was made from, or the result itself. */
export interface EditList {
  readonly name: string;
  /** Image and video clips, in the order in which local functions used them. */
  readonly pictures: readonly EditClip[];
  /** Images that local functions combined with films, such as logos. */
  readonly stills: readonly EditClip[];
  readonly sounds: readonly EditClip[];
  /** The finished file. Null if the clips themselves are the result. */
  readonly finished: EditClip | null;
  readonly captions: readonly EditCaption[];
}

/** Returns an edit list for each downloaded result, films first, then one for each returned list of several results. */
export function editLists(state: RunState): readonly EditList[] {
  const returned = returnedReferences(state.planned.plan.returns).filter(
    ({ ref }) => ref.as !== "value" && clipOf(state, ref) !== null,
  );
  const lists = returned.map(({ name, ref }) => editList(state, name, [ref]));
  const items = returned.filter(({ isCounted }) => isCounted);
  const whole = Map.groupBy(items, ({ name }) => name.replace(/-\d+$/, ""));
  return [
    ...lists.filter(isFilm),
    ...lists.filter((list) => !isFilm(list)),
    ...[...whole].flatMap(([name, all]) => {
      const refs = all.map(({ ref }) => ref);
      return all.length > 1 ? [editList(state, name, refs)] : [];
    }),
  ];
}

const isFilm = ({ finished, pictures }: EditList) =>
  [finished, ...pictures].some((clip) => clip !== null && contentOf(clip).startsWith("video/"));

function editList(state: RunState, name: string, refs: readonly Ref[]): EditList {
  const files = refs.flatMap((ref) => filesOf(state, ref));
  const isOne = files.length === 1;
  const { clips, stills, captions } = isOne ? partsOf(state, refs[0]!, new Set()) : inARow(state, files);
  const whole = clipOf(state, refs[0]!)!;
  const isWhole = !isOne || (clips.length === 1 && stills.length === 0 && clips[0]!.name === whole.name);
  const sounds = clips.filter((clip) => contentOf(clip).startsWith("audio/"));
  return {
    name,
    pictures: clips.filter((clip) => !contentOf(clip).startsWith("audio/")),
    stills,
    sounds: [...new Map(sounds.map((sound) => [sound.name, sound])).values()],
    finished: isWhole ? null : whole,
    captions: captions.toSorted((first, second) => first.start - second.start),
  };
}

interface Parts {
  readonly clips: readonly EditClip[];
  readonly stills: readonly EditClip[];
  readonly captions: readonly EditCaption[];
}

const NOTHING: Parts = { clips: [], stills: [], captions: [] };

function inARow(state: RunState, files: readonly Ref[]): Parts {
  return { ...NOTHING, clips: files.flatMap((file) => clipOf(state, file) ?? []) };
}

function partsOf(state: RunState, ref: Ref, seen: Set<string>): Parts {
  const clip = clipOf(state, ref);
  const take = clip?.takes[clip.active];
  const step = take === undefined ? undefined : stepNamed(state.planned.plan, take.step);
  if (clip === null || take === undefined || step === undefined) return NOTHING;
  const media = isLocal(step) ? mediaIn(state, step) : [];
  const key = media.length === 0 ? `${step.path} ${take.output.index}` : step.path;
  if (seen.has(key)) return NOTHING;
  seen.add(key);
  if (media.length === 0) return { ...NOTHING, clips: [clip] };
  const films = media.filter(({ contentType }) => contentType.startsWith("video/"));
  const isStill = ({ contentType, list }: Taken) =>
    contentType.startsWith("image/") && films.length > 0 && !films.some((film) => list !== null && film.list === list);
  // A clip that a function uses twice is listed twice.
  const known = new Map<string, Parts>();
  const parts = media.map((part): Parts & { readonly part: Taken } => {
    const name = JSON.stringify(part.ref);
    if (!known.has(name)) known.set(name, isStill(part) ? stillOf(state, part.ref) : partsOf(state, part.ref, seen));
    return { ...known.get(name)!, part };
  });
  const clips = parts.flatMap((part) => part.clips);
  return {
    clips: clips.length === 0 ? [clip] : clips,
    stills: parts.flatMap(({ stills }) => stills),
    captions: captionsOf(state.steps[step.path]?.value, {
      films: parts.flatMap(({ part, captions }) =>
        films.includes(part) ? [{ seconds: secondsOf(clipOf(state, part.ref)), captions }] : [],
      ),
      seconds: secondsOf(clip),
    }),
  };
}

function stillOf(state: RunState, ref: Ref): Parts {
  const still = clipOf(state, ref);
  return still === null ? NOTHING : { ...NOTHING, stills: [still] };
}

function secondsOf(clip: EditClip | null): number | null {
  const durationMs = clip?.takes[clip.active]?.output.durationMs ?? null;
  return durationMs === null ? null : durationMs / 1000;
}

function isLocal(step: PlanStep): boolean {
  const { needsCode, pricing, standsFor } = traitsOf(step);
  return needsCode && pricing.by === "nothing" && standsFor.length === 0;
}

interface Taken {
  readonly ref: Ref;
  readonly contentType: string;
  readonly list: object | null;
}

function mediaIn(state: RunState, step: PlanStep): readonly Taken[] {
  const walk = (value: Json, list: object | null): readonly Taken[] => {
    if (typeof value !== "object" || value === null) return [];
    if (!isReference(value))
      return Object.values(value).flatMap((item) => walk(item, Array.isArray(value) ? value : list));
    return filesOf(state, value.$ref).flatMap((ref) => {
      const contentType = (givenAs(state, ref) ?? referenced(state, ref)[0]?.output.copy)?.contentType;
      return contentType === undefined ? [] : [{ ref, contentType, list }];
    });
  };
  return "input" in step ? walk(step.input, null) : [];
}

function filesOf(state: RunState, ref: Ref): readonly Ref[] {
  const step = state.steps[ref.step];
  if (step === undefined || (ref.as !== "asset" && ref.as !== "upload")) return [];
  const plan = stepNamed(state.planned.plan, ref.step);
  const approved = step.approval?.approved === true && plan !== undefined ? traitsOf(plan).standsFor : null;
  const parts = step.chosen === null ? (step.expanded ?? approved) : null;
  if (parts !== null) {
    const all = parts.flatMap(({ $ref }) => filesOf(state, $ref));
    return typeof ref.output === "number" ? all.slice(ref.output, ref.output + 1) : all;
  }
  if (ref.output !== "all" || step.chosen !== null) return [ref];
  return referenced(state, ref).map(({ output }) => ({ ...ref, output: output.index }));
}

function clipOf(state: RunState, ref: Ref): EditClip | null {
  const given = givenAs(state, ref);
  if (given !== null) return givenClip(ref.step, given);
  const [used] = referenced(state, ref).filter(({ output }) => output.copy !== null);
  if (used === undefined || !isMedia(used)) return null;
  const takes = takesOf(state, ref).filter((take) => take.output.copy !== null);
  const active = takes.findIndex(({ step, output }) => step === used.step && output.index === used.output.index);
  return active < 0 ? { name: ref.step, takes: [used], active: 0 } : { name: ref.step, takes, active };
}

function givenAs(state: RunState, ref: Ref): StoredCopy | null {
  const step = state.steps[ref.step];
  return step === undefined ? null : chosenUpload(state, step);
}

function givenClip(step: string, copy: StoredCopy): EditClip | null {
  const take = { step, output: { index: 0, copy, durationMs: null, fps: null } };
  return isMedia(take) ? { name: step, takes: [take], active: 0 } : null;
}

function takesOf(state: RunState, ref: Ref): readonly ProducedOutput[] {
  const step = stepNamed(state.planned.plan, ref.step);
  const among = step === undefined ? [] : traitsOf(step).standsFor;
  if (among.length === 0) return referenced(state, ref).slice(0, 1);
  return among.flatMap(({ $ref }) => {
    const chooser = stepNamed(state.planned.plan, $ref.step);
    const isChoice = chooser !== undefined && traitsOf(chooser).standsFor.length > 0;
    if (isChoice) return takesOf(state, $ref);
    const stepState = state.steps[$ref.step];
    return stepState === undefined ? [] : outputsOf(stepState).map((output) => ({ step: $ref.step, output }));
  });
}

export function contentOf({ takes, active }: EditClip): string {
  return takes[active]!.output.copy!.contentType;
}

function isMedia({ output }: EditTake): boolean {
  return /^(?:image|video|audio)\//.test(output.copy?.contentType ?? "");
}

/** A caption. Times are in seconds from the start of the film. */
interface EditCaption {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

interface Captioned {
  readonly seconds: number | null;
  readonly captions: readonly EditCaption[];
}

/**
 * Returns the captions in a function's result, followed by those of its input films. Leaves out films whose start time
 * is unknown.
 */
function captionsOf(
  value: unknown,
  { films, seconds }: { readonly films: readonly Captioned[]; readonly seconds: number | null },
): readonly EditCaption[] {
  const starts = startsOf(value, films, seconds);
  const moved = films.flatMap(({ captions }, index) => {
    const by = starts?.[index];
    if (by === undefined) return [];
    return captions.map(({ start, end, text }) => ({ start: start + by, end: end + by, text }));
  });
  const end = seconds ?? Number.POSITIVE_INFINITY;
  const shown = moved.filter((caption) => caption.end > 0 && caption.start < end);
  return [
    ...ownCaptions(value),
    ...shown.map((caption) => ({ ...caption, start: Math.max(0, caption.start), end: Math.min(end, caption.end) })),
  ];
}

const SAME_SECONDS = 0.05;

function startsOf(value: unknown, films: readonly Captioned[], seconds: number | null): readonly number[] | null {
  const starts = typeof value === "object" && value !== null && "starts" in value ? value.starts : null;
  if (Array.isArray(starts) && starts.length === films.length && starts.every((start) => typeof start === "number"))
    return starts;
  const [film] = films;
  if (films.length !== 1 || film!.seconds === null || seconds === null) return null;
  return Math.abs(film!.seconds - seconds) <= SAME_SECONDS ? [0] : null;
}

/** Reads `{ cues: [{ start, end, text }] }`, as `caption` returns it. */
function ownCaptions(value: unknown): readonly EditCaption[] {
  const cues = typeof value === "object" && value !== null && "cues" in value ? value.cues : null;
  if (!Array.isArray(cues)) return [];
  return cues.flatMap((cue: unknown): readonly EditCaption[] => {
    if (typeof cue !== "object" || cue === null || !("start" in cue && "end" in cue && "text" in cue)) return [];
    const { start, end, text } = cue;
    const isLine = typeof start === "number" && typeof end === "number" && end >= start && typeof text === "string";
    return isLine ? [{ start, end, text }] : [];
  });
}
