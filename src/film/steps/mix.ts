import { join as joinPath } from "node:path";
import type { LocalFile, Media, TaskContext } from "../../core/define/index.ts";
import type { Foreseen } from "../../core/plan/plan.ts";
import { any, checkOptions, decibels, number, type Rules, seconds } from "../check-options.ts";
import { FilmError } from "../ffmpeg/film-error.ts";
import { probe } from "../ffmpeg/probe.ts";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";
import { filmTask, type StepFields, splitOptions, type Task } from "../film-task.ts";
import { type Clip, openClip } from "../graph/clip.ts";
import { type EndsOf, fitLength, foreseenLength, LENGTH, type Length, type LengthOption } from "../graph/length.ts";
import { PLAIN_SOUND, picturesOf, SAMPLE_RATE, SOUND_ARGS } from "../graph/output.ts";

/** Audio, either alone or with a position and a level. */
export type Sound =
  | Media<"audio">
  | {
      readonly sound: Media<"audio">;
      /** When the audio starts in the film, in seconds. Default: 0 or, after another voice, the end of that voice. */
      readonly at?: number;
      /** Level in decibels. Default 0, or -8 for music. */
      readonly volume?: number;
    };

/** Options for `mix`. */
export interface MixOptions extends StepFields, LengthOption {
  /** Speech, as one sound or several. */
  readonly voice?: Sound | readonly Sound[];
  /** Music. It is repeated until the end of the film, where it fades out. */
  readonly music?: Sound;
  /** Sound effects, each with its start time in seconds. */
  readonly effects?: readonly Sound[];
  /** Level of the film's own audio in decibels. Null to remove that audio. Default 0. */
  readonly own?: number | null;
  /** How much to lower music and the film's own audio while a voice speaks, in decibels. Default 12. */
  readonly duck?: number;
  /**
   * Loudness of the result in LUFS. Null to leave it unchanged. Video sites play at -14, podcasts at -16. The true peak
   * stays below -1 dB. Default -14.
   */
  readonly loudness?: number | null;
}

/** The value of a `mix` step. */
export interface Mixed {
  readonly seconds: number;
  /** When the film starts, in seconds: always 0. */
  readonly starts: readonly [0];
  /** When each voice starts in the film, in seconds. */
  readonly voices: readonly number[];
  /** Measured loudness of the result in LUFS. Null for silence, or if `loudness` was null. */
  readonly loudness: number | null;
  /** True peak in dBTP, or -99 for digital silence. Null if the option `loudness` was null. */
  readonly truePeak: number | null;
  /** What was cut or extended because video and audio end at different times. Null if nothing was cut or extended. */
  readonly lengthNote: string | null;
}

interface Placed {
  readonly sound: LocalFile;
  readonly at?: number;
  readonly volume?: number;
}

interface Given extends Omit<MixOptions, "voice" | "music" | "effects" | keyof StepFields> {
  readonly film: LocalFile;
  readonly voice: readonly Placed[];
  readonly music: readonly Placed[];
  readonly effects: readonly Placed[];
}

const RULES: Rules = {
  voice: any,
  music: any,
  effects: any,
  own: (value) => (value === null ? null : decibels(value)),
  duck: number(0, 60, " of decibels"),
  loudness: (value) => (value === null ? null : number(-70, -5, " of LUFS")(value)),
  length: LENGTH,
};

/** Mixes voice, music and effects into a film and sets the film's loudness. Re-encodes the video only if necessary. */
export function mix(task: Task, name: string, film: Media<"video">, options: MixOptions) {
  const { step, own } = splitOptions(options);
  checkOptions(name, own, RULES);
  const { voice, music, effects = [], ...rest } = own;
  const sounds = { voice: placed(voice), music: placed(music), effects: placed(effects) };
  for (const [role, list] of Object.entries(sounds))
    for (const sound of list) checkOptions(`${name}: ${role}`, sound, { sound: any, at: seconds, volume: decibels });
  const input = { film, ...sounds, ...rest };
  return filmTask(task, name, input, {
    files: { film: "video" },
    version: "3",
    needs: ["loudness"],
    step,
    foresee: foreseenMix,
    make: (given, context) => mixFiles(given as unknown as Given, context),
  });
}

/** Predicts the length of a mix before its files exist. `input` has references in place of files. */
function foreseenMix(input: unknown, endsOf: EndsOf): Foreseen {
  const { film, voice, effects, own = 0, length } = input as Given;
  const pictures = endsOf(film);
  const endOf = ({ sound, at }: Placed, otherwise: number) => {
    const ends = endsOf(sound);
    return ends === null ? null : (at ?? otherwise) + (ends.sound ?? ends.seconds);
  };
  const voices: (number | null)[] = [];
  for (const sound of voice) {
    const before = voices.length === 0 ? 0 : voices.at(-1)!;
    voices.push(before === null ? null : endOf(sound, before));
  }
  // Assume that an effect of unknown duration is short.
  const ends = [...voices, ...effects.map((sound) => endOf(sound, 0) ?? 0)];
  const known = ends.filter((end) => end !== null);
  if (pictures === null || known.length < ends.length) return { seconds: null };
  const sound = soundEnd(known, own === null ? null : pictures.sound, length);
  return foreseenLength("the audio", { ...pictures, sound }, length);
}

/**
 * Returns the time at which the audio ends. If `length` is `sound`, the film's own audio counts only if no audio was
 * added.
 */
function soundEnd(ends: readonly number[], own: number | null, length: Length | undefined): number | null {
  const counted = own === null || (length === "sound" && ends.length > 0) ? ends : [...ends, own];
  return counted.length === 0 ? null : Math.max(...counted);
}

function placed(sounds: Sound | readonly Sound[] | undefined) {
  if (sounds === undefined) return [];
  const list = Array.isArray(sounds) ? (sounds as readonly Sound[]) : [sounds as Sound];
  return list.map((sound) => ("sound" in sound ? sound : { sound }));
}

const MUSIC_VOLUME = -8;
const MUSIC_FADE = 1.5;

async function mixFiles(given: Given, context: TaskContext): Promise<Mixed> {
  const { signal } = context;
  const { duck = 12, loudness = -14, length } = given;
  const film = await openClip(given.film.path, "the video", signal);
  const { layers, inputs, voices, end } = await layersOf(given, film, signal);
  const { seconds, note } = fitLength("the audio", { seconds: film.seconds, sound: end }, length);
  const mixed = joinPath(context.folder, "mixed.wav");
  const graph = mixGraph(layers, { seconds, duck, musicFade: Math.min(MUSIC_FADE, seconds / 4) });
  await runFfmpeg({
    inputs,
    args: ["-filter_complex", graph, "-map", "[mixed]", "-c:a", "pcm_f32le", "-rf64", "auto"],
    target: mixed,
    seconds,
    signal,
    onProgress: (fraction) => context.progress(fraction / 2),
  });
  const pictures = await picturesOf(film, seconds);
  const target = context.file("film");
  const write = (filter: string) =>
    runFfmpeg({
      inputs: [film, { path: mixed, name: "the mix" }],
      args: [...pictures, "-map", "1:a:0", "-af", filter, ...SOUND_ARGS],
      target,
      seconds,
      signal,
      onProgress: (fraction) => context.progress(0.5 + fraction / 2),
    });
  const made = await levelled(mixed, loudness, { write, target, signal });
  const loud = { loudness: made?.integrated ?? null, truePeak: made?.truePeak ?? null };
  return { seconds, starts: [0], voices, ...loud, lengthNote: note };
}

async function layersOf({ voice, music, effects, own = 0, length }: Given, film: Clip, signal: AbortSignal) {
  const inputs: { readonly path: string; readonly name: string; readonly args?: readonly string[] }[] = [film];
  const layers: Layer[] = film.audio === null || own === null ? [] : [{ input: 0, role: "film", at: 0, volume: own }];
  const add = async (role: Layer["role"], name: string, { sound, at = 0, volume = 0 }: Placed) => {
    const { path, audio } = await probe(sound.path, { name, signal });
    if (audio === null) throw new FilmError("CLIP_DAMAGED", `${name} has no audio`);
    const args = role === "music" ? ["-stream_loop", "-1"] : [];
    layers.push({ input: inputs.push({ path, name, args }) - 1, role, at, volume });
    return { at, end: at + audio.seconds };
  };
  const spoken: { readonly at: number; readonly end: number }[] = [];
  for (const [index, sound] of voice.entries())
    spoken.push(await add("voice", `voice ${index + 1}`, { ...sound, at: sound.at ?? spoken.at(-1)?.end ?? 0 }));
  for (const sound of music) await add("music", "the music", { volume: MUSIC_VOLUME, ...sound });
  const ends = spoken.map(({ end }) => end);
  for (const [index, sound] of effects.entries()) ends.push((await add("effect", `effect ${index + 1}`, sound)).end);
  if (layers.length === 0)
    throw new FilmError("FILM_INPUT", "there is nothing to mix: the video has no audio, and no other audio was added");
  const end = soundEnd(ends, own === null ? null : (film.audio?.seconds ?? null), length);
  return { inputs, layers, voices: spoken.map(({ at }) => at), end };
}

/**
 * Maximum number of passes to reach the target loudness. The limiter lowers the loudness, so each additional pass
 * raises the gain to compensate.
 */
const PASSES = 3;
const CLOSE_ENOUGH = 0.4;

interface Levelling {
  readonly write: (filter: string) => Promise<unknown>;
  readonly target: string;
  readonly signal: AbortSignal;
}

async function levelled(
  mixed: string,
  loudness: number | null,
  { write, target, signal }: Levelling,
): Promise<Loudness | null> {
  const before = loudness === null ? null : await measureLoudness(mixed, "the mix", signal);
  if (loudness === null || before === null || before.integrated === null) {
    await write("anull");
    return before;
  }
  let gain = loudness - before.integrated;
  for (let pass = 1; ; pass++) {
    await write(loudnessFilter(before, gain));
    const measured = await measureLoudness(target, "the mix", signal);
    const off = loudness - (measured.integrated ?? loudness);
    if (pass === PASSES || Math.abs(off) <= CLOSE_ENOUGH) return measured;
    gain += off;
  }
}

interface Layer {
  readonly input: number;
  readonly role: "film" | "voice" | "music" | "effect";
  readonly at: number;
  /** Gain in decibels. */
  readonly volume: number;
}

interface Mixing {
  readonly seconds: number;
  /** Approximate number of decibels by which the voice lowers music and the film's own audio. */
  readonly duck: number;
  readonly musicFade: number;
}

/**
 * Returns a filter graph that mixes the sounds without normalizing their levels. Its output `[mixed]` is as long as the
 * film.
 */
function mixGraph(layers: readonly Layer[], mixing: Mixing): string {
  const length = Math.round(mixing.seconds * SAMPLE_RATE);
  const chains = layers.map((layer, index) => chain(layer, index, { ...mixing, length }));
  const of = (...roles: readonly Layer["role"][]) =>
    layers.flatMap(({ role }, index) => (roles.includes(role) ? [`[l${index}]`] : []));
  const [voices, beds, effects] = [of("voice"), of("music", "film"), of("effect")];
  if (voices.length === 0 || beds.length === 0 || mixing.duck <= 0)
    return [...chains, sum([...voices, ...beds, ...effects], "mixed")].join(";");
  return [
    ...chains,
    sum(voices, "voice"),
    sum(beds, "bed"),
    "[voice]asplit[spoken][key]",
    `[bed][key]${ducking(mixing.duck)}[under]`,
    sum(["[spoken]", "[under]", ...effects], "mixed"),
  ].join(";");
}

function chain(
  { input, role, at, volume }: Layer,
  index: number,
  { seconds, length, musicFade }: Mixing & { readonly length: number },
): string {
  const delay = at > 0 ? [`adelay=${Math.round(at * 1000)}:all=1`] : [];
  const fades =
    role === "music" && musicFade > 0 ? [`afade=t=out:st=${Math.max(0, seconds - musicFade)}:d=${musicFade}`] : [];
  const all = [
    PLAIN_SOUND,
    `volume=${volume}dB`,
    ...delay,
    "apad",
    `atrim=end_sample=${length}`,
    "asetpts=PTS-STARTPTS",
    ...fades,
  ];
  return `[${input}:a:0]${all.join(",")}[l${index}]`;
}

function sum(labels: readonly string[], to: string): string {
  if (labels.length === 1) return `${labels[0]}anull[${to}]`;
  return `${labels.join("")}amix=inputs=${labels.length}:duration=longest:normalize=0[${to}]`;
}

/** Level at which the voice starts to lower other sounds: well below normal speech, but above breathing. */
const THRESHOLD = 0.015;

function ducking(decibels: number): string {
  const over = 24;
  const ratio = Math.min(20, over / Math.max(1, over - decibels));
  return `sidechaincompress=threshold=${THRESHOLD}:ratio=${ratio.toFixed(3)}:attack=30:release=350:makeup=1`;
}

interface Loudness {
  /** Integrated loudness in LUFS. Null for silence. */
  readonly integrated: number | null;
  /** True peak in dBTP, or -99 for digital silence. */
  readonly truePeak: number;
}

async function measureLoudness(path: string, name: string, signal?: AbortSignal): Promise<Loudness> {
  const args = ["-map", "0:a:0", "-af", "loudnorm=print_format=json"];
  const log = await runFfmpeg({ inputs: [{ path, name }], args, target: null, signal, isVerbose: true });
  const [, json = "{}"] = /(\{[^{}]*"input_i"[^{}]*\})/.exec(log) ?? [];
  const { input_i = "-inf", input_tp = "-inf" } = JSON.parse(json) as { input_i?: string; input_tp?: string };
  const integrated = Number(input_i);
  return { integrated: integrated > -70 ? integrated : null, truePeak: Number(input_tp.replace("inf", "99")) };
}

/** Peak limit in dBTP for audio before encoding. It leaves headroom, because encoding raises peaks slightly. */
const CEILING = -1.5;

/**
 * Returns a filter that changes the loudness by a constant gain, unlike ffmpeg's `loudnorm`, which would vary the gain
 * of short audio.
 */
function loudnessFilter({ truePeak }: Loudness, gain: number): string {
  const raised = `volume=${gain.toFixed(3)}dB`;
  if (truePeak + gain <= CEILING) return raised;
  // Oversampling by four detects peaks between samples.
  const limit = (10 ** (CEILING / 20)).toFixed(4);
  return `${raised},aresample=${4 * SAMPLE_RATE},alimiter=limit=${limit}:level=0:attack=2:release=40,aresample=${SAMPLE_RATE}`;
}
