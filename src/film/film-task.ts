import type { TaskFiles, TaskHandle } from "../core/define/handle.ts";
import type { AllMedia, LocalFile, Media, MediaKind, MediaList, TaskContext } from "../core/define/index.ts";
import type { LocalInput, TaskMethod, TaskOptions } from "../core/define/steps/task.ts";
import { markFile } from "../core/marks/index.ts";
import type { Foresee, Foreseen, KnownMedia } from "../core/plan/plan.ts";
import { type Letters, lettersDrawn } from "./captions/letters.ts";
import { FilmError } from "./ffmpeg/film-error.ts";
import { MOST_SECONDS, readingAtMost } from "./ffmpeg/probe.ts";
import { ffmpegWith, type Need } from "./ffmpeg/requirement.ts";
import { lookAt } from "./graph/clip.ts";
import type { Ends, EndsOf } from "./graph/length.ts";

/** The builder's method that adds local functions, including film steps. */
export type Task = TaskMethod;

/** Options for all film steps. */
export type StepFields = Pick<TaskOptions, "after" | "when" | "attempts" | "onFailure" | "prune" | "expect"> & {
  /** Maximum duration of each input, in seconds. A single frame may last at most 1/60 of the maximum. Default 7200. */
  readonly mostSeconds?: number | undefined;
};

const STEP_FIELDS = ["after", "when", "attempts", "onFailure", "prune", "expect", "mostSeconds"] as const;

export function splitOptions<O extends StepFields>(
  options: O = {} as O,
): { readonly step: StepFields; readonly own: Omit<O, keyof StepFields> } {
  const own: Partial<O> = { ...options };
  const step: { [field: string]: unknown } = {};
  for (const field of STEP_FIELDS) {
    if (options[field] !== undefined) step[field] = options[field];
    delete own[field];
  }
  return { step, own: own as Omit<O, keyof StepFields> };
}

interface FilmTask<I, V, F extends TaskFiles> {
  readonly files: F;
  /**
   * Version of the task's code. Change it whenever the same input gives different bytes, so that outdated results are
   * not reused.
   */
  readonly version: string;
  readonly needs?: readonly Need[];
  readonly letters?: Letters | undefined;
  readonly step: StepFields;
  readonly foresee?: (input: unknown, endsOf: EndsOf) => Foreseen;
  readonly make: (input: LocalInput<I>, context: TaskContext) => Promise<V>;
}

/** Adds a step that makes files with ffmpeg. The files are marked as containing AI-generated media. */
export function filmTask<I, V, F extends TaskFiles>(
  task: Task,
  name: string,
  input: I,
  { files, version, needs = [], letters, step, foresee, make }: FilmTask<I, V, F>,
): TaskHandle<V, F> {
  const { mostSeconds, ...policy } = step;
  const wrong = mostSeconds !== undefined && !(mostSeconds > 0);
  if (wrong) throw new FilmError("FILM_INPUT", `${name}: mostSeconds is ${mostSeconds}; use a number above 0`);
  const run = async (given: LocalInput<I>, context: TaskContext): Promise<V> => {
    const value = await readingAtMost(mostSeconds, () => make(given, context));
    for (const [file, kind] of Object.entries(files)) {
      if (kind === "text") continue;
      await markFile(context.file(file), { digitalSourceType: "compositeWithTrainedAlgorithmicMedia" });
    }
    return value;
  };
  const options = {
    ...policy,
    files,
    version,
    requires: letters === undefined ? ffmpegWith(...needs) : lettersDrawn(letters),
    foresee: foreseeing(foresee, mostSeconds ?? MOST_SECONDS),
  };
  return task(name, input, run, options) as unknown as TaskHandle<V, F>;
}

function foreseeing(own: FilmTask<unknown, unknown, TaskFiles>["foresee"], most: number): Foresee {
  return async (input, known) => {
    const given = [...mediaIn(input)];
    const looked = await Promise.all(given.map(({ media }) => lookAtGiven(media, known)));
    const ends = new Map<unknown, Ends>();
    for (const [index, { field, media }] of given.entries()) {
      const found = looked[index]!;
      if (found !== null && "fault" in found) return { seconds: null, problem: { field, message: found.fault } };
      if (found !== null) ends.set(media, found);
    }
    const foreseen = own?.(input, (media) => ends.get(media) ?? null) ?? { seconds: null };
    const longest = Math.max(0, ...[...ends.values()].map(({ seconds, sound }) => Math.max(seconds, sound ?? 0)));
    if (longest <= most) return foreseen;
    const long = `its input is ${Math.round(longest)} s long, but the step accepts at most ${most} s`;
    return { ...foreseen, warning: `${long}; if this is intended, raise the step's mostSeconds` };
  };
}

async function lookAtGiven(media: unknown, known: KnownMedia) {
  const file = known.fileOf(media);
  const found = file === null ? null : await lookAt(file);
  if (found !== null) return found;
  const seconds = await known.secondsOf(media);
  return seconds === null ? null : { seconds, sound: null };
}

function* mediaIn(input: unknown, field = "input"): Generator<{ readonly field: string; readonly media: unknown }> {
  if (typeof input !== "object" || input === null) return;
  if ("$ref" in input) {
    if ((input.$ref as { readonly output?: unknown }).output !== "value") yield { field, media: input };
  } else
    for (const [key, inner] of Object.entries(input))
      yield* mediaIn(inner, Array.isArray(input) ? `${field}[${key}]` : `${field}.${key}`);
}

export function clipNames(handles: readonly { readonly step: string }[]): (index: number, count: number) => string {
  return (index, count) => {
    const from = handles.length === count ? handles[index]?.step : handles.length === 1 ? handles[0]?.step : undefined;
    return `clip ${index + 1} of ${count}${from === undefined ? "" : ` (${from})`}`;
  };
}

export function listOf<K extends MediaKind>(media: MediaList<K>): readonly (Media<K> | AllMedia<K>)[] {
  return "step" in media ? [media] : media;
}

export function namedFiles(files: readonly unknown[], named: ReturnType<typeof clipNames>) {
  const flat = files.flat() as readonly LocalFile[];
  return flat.map(({ path }, index) => ({ path, name: named(index, flat.length) }));
}
