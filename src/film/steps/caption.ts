import { writeFile } from "node:fs/promises";
import { knownText, type LocalFile, type Media, type OrValue, type TaskContext } from "../../core/define/index.ts";
import { alignLines, alignWords, type TimedWord } from "../captions/align.ts";
import { ass, cueEvents, type LetterStyle } from "../captions/ass.ts";
import { sentencesOf } from "../captions/breaks.ts";
import { type Cue, cuesOf, limitsFor, srt, vtt } from "../captions/cues.ts";
import { assFilter, checkLetters, fontsDrawn } from "../captions/letters.ts";
import { readSpeech, type Span } from "../captions/speech.ts";
import { any, checkOptions, letterStyle, number, oneOf, type Rules, seconds, unfit } from "../check-options.ts";
import { FilmError } from "../ffmpeg/film-error.ts";
import { probe } from "../ffmpeg/probe.ts";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";
import { filmTask, type StepFields, splitOptions, type Task } from "../film-task.ts";
import { type Lasting, openLasting } from "../graph/clip.ts";
import { pixelsOf, wholeFilter } from "../graph/frame.ts";
import { foreseenFilm, LENGTH, type LengthOption } from "../graph/length.ts";
import { filmArgs, heldFor, picturesOf, soundOf } from "../graph/output.ts";

/** A spoken line to show as captions. */
export interface SpokenLine {
  readonly text: OrValue<string>;
  /** Audio of this line. Default: the film's own audio, which must contain the lines in order. */
  readonly voice?: Media<"audio">;
  /** When `voice` starts in the film, in seconds. Default: the end of the previous voice, or 0 for the first. */
  readonly at?: OrValue<number>;
  /**
   * When each word is spoken, in seconds from the start of `voice`. By default, this is estimated from pauses and word
   * lengths.
   */
  readonly words?: OrValue<readonly TimedWord[]>;
}

/** Options for `caption`. */
export interface CaptionOptions extends StepFields, LengthOption {
  /** The script: a list of lines, or a string in which each sentence is a line. */
  readonly lines: OrValue<string> | readonly SpokenLine[];
  /** Font size, colors and position. */
  readonly style?: LetterStyle;
  /** True to draw the captions into the video. False to add a subtitle track that viewers turn on. Default true. */
  readonly burn?: boolean;
  /** Maximum number of letters per line. A wide letter counts as more than one. Default: as many as fit, at most 42. */
  readonly letters?: number;
}

const RULES: Rules = { lines: any, style: any, burn: oneOf(true, false), letters: number(4, 200), length: LENGTH };

/** The value of a `caption` step. */
export interface Captioned {
  readonly cues: readonly Cue[];
  /** Names of the fonts that were used. */
  readonly fonts: readonly string[];
  /** What was cut or extended because video and audio end at different times. Null if they end together. */
  readonly lengthNote: string | null;
}

/** Adds captions from a known script, timed to the speech. Returns the film, and the captions as SRT and VTT. */
export function caption(task: Task, name: string, film: Media<"video">, options: CaptionOptions) {
  const { step, own } = splitOptions(options);
  if (own.lines === undefined) throw unfit(`${name}: \`lines\` is missing; set it to the spoken text`);
  const lines = Array.isArray(own.lines) ? own.lines : [{ text: own.lines as OrValue<string>, isScript: true }];
  checkOptions(name, own, RULES);
  checkOptions(`${name}: style`, own.style ?? {}, letterStyle);
  for (const line of lines as readonly (object | string)[]) {
    if (typeof line === "string")
      throw unfit(`${name}: \`lines\` must not be a list of strings; use one string, or objects such as { text }`);
    checkOptions(`${name}: lines`, line, { text: any, voice: any, at: seconds, words: any, isScript: any });
  }
  const captioned = filmTask(
    task,
    name,
    { film, ...own, lines },
    {
      files: { film: "video", "captions.srt": "text", "captions.vtt": "text" },
      version: "5",
      ...(own.burn === false
        ? {}
        : { letters: { texts: knownTexts(lines as readonly SpokenLine[]), style: own.style ?? {} } }),
      step,
      foresee: foreseenFilm(own),
      make: (given, context) => captionFile(given as unknown as Given, context),
    },
  );
  return {
    film: captioned.file("film"),
    srt: captioned.file("captions.srt"),
    vtt: captioned.file("captions.vtt"),
    value: captioned.value,
  };
}

function knownTexts(lines: readonly SpokenLine[]): readonly string[] {
  return lines.flatMap(({ text, words }) => {
    if (Array.isArray(words)) return (words as readonly TimedWord[]).map((word) => word.text);
    const known = knownText(text);
    return known !== null && words === undefined ? [known] : [];
  });
}

interface GivenLine {
  readonly text: string;
  readonly voice?: LocalFile;
  readonly at?: number;
  readonly words?: readonly TimedWord[];
  readonly isScript?: boolean;
}

interface Given extends LengthOption {
  readonly film: LocalFile;
  readonly lines: readonly GivenLine[];
  readonly style?: LetterStyle;
  readonly burn?: boolean;
  readonly letters?: number;
}

async function captionFile(given: Given, context: TaskContext): Promise<Captioned> {
  const film = await openLasting(given.film.path, "the video", given, context.signal);
  const timed = await timeLines(given.lines, film, context);
  const limits = limitsFor(film.video, { size: given.style?.size, most: given.letters });
  const cues = timed.flatMap((words) => cuesOf(words, limits));
  if (cues.length === 0) throw new FilmError("FILM_INPUT", "there is nothing to caption: the script is empty");
  await writeFile(context.file("captions.srt"), srt(cues));
  await writeFile(context.file("captions.vtt"), vtt(cues));
  const { style = {}, burn = true } = given;
  const fonts = burn ? await burned(film, cues, style, context) : await asTrack(film, context);
  return { cues, fonts, lengthNote: film.lengthNote };
}

async function timeLines(lines: readonly GivenLine[], film: Lasting, context: TaskContext) {
  const sentences = lines.flatMap((line) =>
    line.isScript === true ? sentencesOf(line.text).map((text) => ({ text })) : [line],
  );
  const inFilm = sentences.filter(({ voice, words }: GivenLine) => voice === undefined && words === undefined);
  const speech = inFilm.length === 0 ? [] : await speechOf({ path: film.path, name: "the video" }, context);
  const spans = alignLines(
    inFilm.map(({ text }) => text),
    speech,
  );
  const timed: (readonly TimedWord[])[] = [];
  let [end, next] = [0, 0];
  for (const [index, line] of (sentences as readonly GivenLine[]).entries()) {
    const name = `voice ${index + 1}`;
    const at = line.at ?? end;
    const voice = line.voice === undefined ? null : { path: line.voice.path, name };
    if (voice !== null) end = at + ((await probe(voice.path, { name, signal: context.signal })).audio?.seconds ?? 0);
    // A blank line within a word would end its cue and start another.
    if (line.words !== undefined)
      timed.push(line.words.map((word) => ({ ...moved(word, at), text: word.text.trim().replaceAll(/\s+/g, " ") })));
    else if (voice === null) timed.push(alignWords(line.text, spans[next++]!, speech));
    else {
      const heard = (await speechOf(voice, context)).map((span) => moved(span, at));
      timed.push(alignWords(line.text, { start: heard[0]!.start, end: heard.at(-1)!.end }, heard));
    }
  }
  return timed;
}

function moved<S extends Span>(span: S, by: number): S {
  return { ...span, start: span.start + by, end: span.end + by };
}

async function speechOf(file: { readonly path: string; readonly name: string }, { folder, signal }: TaskContext) {
  const { audio } = await probe(file.path, { name: file.name, signal });
  const speech = audio === null ? [] : await readSpeech(file, folder, signal);
  if (speech.length === 0)
    throw new FilmError("FILM_INPUT", `no speech was found in ${file.name}, so the captions cannot be timed`);
  return speech;
}

async function burned(film: Lasting, cues: readonly Cue[], style: LetterStyle, context: TaskContext) {
  const { folder, signal, progress, file } = context;
  await checkLetters({ texts: cues.map(({ text }) => text), style }, signal);
  const script = ass(cueEvents(cues, style), { pixels: pixelsOf(film.video), style });
  const filter = await assFilter(script, style, folder);
  const log = await runFfmpeg({
    inputs: [film],
    args: [
      ...["-filter_complex", `[0:V:0]${heldFor(film)}${wholeFilter(film.video, "f")},${filter}[film]`],
      ...["-map", "[film]", ...soundOf(film, film.lasts), ...(await filmArgs()).args],
    ],
    target: file("film"),
    seconds: film.lasts,
    signal,
    onProgress: progress,
    cwd: folder,
    isVerbose: true,
  });
  return fontsDrawn(log);
}

async function asTrack(film: Lasting, { file, signal }: TaskContext): Promise<readonly string[]> {
  await runFfmpeg({
    inputs: [film, { path: file("captions.srt"), name: "the captions", demuxer: "srt" }],
    args: [...(await picturesOf(film, film.lasts)), ...soundOf(film, film.lasts), "-map", "1:s:0", "-c:s", "mov_text"],
    target: file("film"),
    signal,
  });
  return [];
}
