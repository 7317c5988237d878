import type { LocalFile, Media, OrValue, TaskContext } from "../../core/define/index.ts";
import type { LetterStyle } from "../captions/ass.ts";
import { assFilter, checkLetters, fontsDrawn, type Letters } from "../captions/letters.ts";
import { lowerThirdScript, placeLowerThird } from "../captions/lower-third.ts";
import {
  any,
  checkBlend,
  checkOptions,
  fit,
  letterStyle,
  number,
  oneOf,
  seconds,
  someSeconds,
  unfit,
} from "../check-options.ts";
import { FilmError } from "../ffmpeg/film-error.ts";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";
import { laidOverFilter } from "../ffmpeg/shown.ts";
import { filmTask, type StepFields, splitOptions, type Task } from "../film-task.ts";
import { type Lasting, openClip, openLasting } from "../graph/clip.ts";
import { EARLY, type Fit, fitFilter, pixelsOf, rateOf, scaleFilter, wholeFilter } from "../graph/frame.ts";
import { type Box, type Corner, logoBox } from "../graph/layout.ts";
import { type EndsOf, foreseenFilm, LENGTH, type LengthOption } from "../graph/length.ts";
import { filmArgs, picturesFor, SOUND_ARGS, soundFor } from "../graph/output.ts";

export interface Logo {
  readonly picture: Media<"image">;
  /** Corner in which the logo is shown. Default `top-right`. */
  readonly corner?: Corner;
  /**
   * Width as a fraction of the film's width. By default, the logo is as wide as a quarter of the film's shorter side,
   * or narrower if it is tall.
   */
  readonly width?: number;
  /** Opacity from 0 to 1. Default 1. */
  readonly opacity?: number;
}

/** A lower third: a name and a line of text at the lower left, above the captions. */
export interface LowerThird {
  /** Text of at most two lines, shrunk if needed. */
  readonly title: OrValue<string>;
  readonly subtitle?: OrValue<string>;
  /** When the lower third appears, in seconds from the start of the film. Default 0.5. */
  readonly at?: number;
  /** How long to show the lower third, in seconds. Default 4. */
  readonly seconds?: number;
  /**
   * Style of the text. `size` is the height of the title's text as a fraction of the film's shorter side (default
   * 0.042). `outline` colors the plate behind the text, and `highlight` colors the bar. `box: false` removes the plate.
   */
  readonly style?: Omit<LetterStyle, "position">;
  /** The `size` of the film's captions, if it is not the default. The lower third is placed above them. */
  readonly captionSize?: number;
}

export interface EndCard {
  readonly picture: Media<"image">;
  /** How the card fills a frame with a different aspect ratio. Default `blur`, which crops nothing. */
  readonly fit?: Fit;
  /** How long to show the card, in seconds. Default 2. */
  readonly seconds?: number;
  /**
   * Length of the cross-fade from the film to the card, in seconds. Shortens the film by the same amount. Default
   * 0.3.
   */
  readonly fade?: number;
}

/** Options for `overlay`. */
export interface OverlayOptions extends StepFields, LengthOption {
  /** An image in a corner. */
  readonly logo?: Logo;
  /** A name and a line of text in the lower left. */
  readonly lowerThird?: LowerThird;
  /** An image that is shown after the film and makes the film longer. */
  readonly endCard?: EndCard;
}

/** Adds a logo and a lower third to a film, and an end card after it. */
export function overlay(task: Task, name: string, film: Media<"video">, options: OverlayOptions) {
  const { step, own } = splitOptions(options);
  checkOverlay(name, own);
  return filmTask(
    task,
    name,
    { film, ...own },
    {
      files: { film: "video" },
      version: "4",
      letters: own.lowerThird && lettersOf(own.lowerThird),
      step,
      foresee: (input, endsOf) => foreseenOverlay(own, input, endsOf),
      make: (given, context) => overlayFile(given as unknown as Given, context),
    },
  );
}

const SHOWN = { seconds: 2, fade: 0.3 };

function foreseenOverlay(own: Pick<OverlayOptions, "endCard" | "length">, input: unknown, endsOf: EndsOf) {
  const foreseen = foreseenFilm(own)(input, endsOf);
  const { seconds: shown, fade } = { ...SHOWN, ...own.endCard };
  if (own.endCard === undefined || foreseen.seconds === null) return foreseen;
  return { ...foreseen, seconds: foreseen.seconds + shown - fade };
}

function checkOverlay(name: string, own: Omit<OverlayOptions, keyof StepFields>): void {
  checkOptions(name, own, { logo: any, lowerThird: any, endCard: any, length: LENGTH });
  const { logo, lowerThird, endCard } = own;
  if (logo === undefined && lowerThird === undefined && endCard === undefined)
    throw unfit(`${name}: there is nothing to overlay; set logo, lowerThird or endCard`);
  const corner = oneOf("top-left", "top-right", "bottom-left", "bottom-right");
  checkOptions(`${name}: logo`, logo ?? {}, { picture: any, corner, width: number(0.01, 1), opacity: number(0, 1) });
  const lower = {
    title: any,
    subtitle: any,
    at: seconds,
    seconds: someSeconds,
    style: any,
    captionSize: letterStyle.size!,
  };
  checkOptions(`${name}: lowerThird`, lowerThird ?? {}, lower);
  const { position: _, ...letters } = letterStyle;
  checkOptions(`${name}: lowerThird.style`, lowerThird?.style ?? {}, letters);
  checkOptions(`${name}: endCard`, endCard ?? {}, { picture: any, fit, seconds: someSeconds, fade: seconds });
  const { fade = SHOWN.fade, seconds: shown = SHOWN.seconds } = endCard ?? {};
  checkBlend(`${name}: endCard`, fade, { length: shown, what: "the card's time on screen" });
}

type OnDisk<T> = Omit<T, "picture"> & { readonly picture: LocalFile };

interface Given extends LengthOption {
  readonly film: LocalFile;
  readonly logo?: OnDisk<Logo>;
  readonly lowerThird?: LowerThird & { readonly title: string; readonly subtitle?: string };
  readonly endCard?: OnDisk<EndCard>;
}

async function overlayFile(given: Given, context: TaskContext) {
  const { signal, progress, file, folder } = context;
  const clip = await openLasting(given.film.path, "the video", given, signal);
  const graph = await graphOf(given, clip, context);
  const sound = clip.audio === null ? [] : ["-map", "[sound]", ...SOUND_ARGS];
  const log = await runFfmpeg({
    inputs: graph.inputs,
    args: [
      ...["-filter_complex", graph.chains.join(";"), "-map", `[${graph.last}]`],
      ...sound,
      ...(await filmArgs()).args,
      ...["-r", rateOf(clip.video.fps).text],
    ],
    target: file("film"),
    seconds: graph.seconds,
    signal,
    onProgress: progress,
    cwd: folder,
    isVerbose: true,
  });
  return { seconds: graph.seconds, starts: [0], fonts: fontsDrawn(log), lengthNote: clip.lengthNote };
}

interface Graph {
  readonly inputs: readonly { readonly path: string; readonly name: string }[];
  readonly chains: readonly string[];
  readonly last: string;
  readonly seconds: number;
}

async function graphOf({ logo, lowerThird, endCard }: Given, clip: Lasting, context: TaskContext): Promise<Graph> {
  const video = pixelsOf(clip.video);
  const { fps } = rateOf(clip.video.fps);
  const plain = `${picturesFor(clip, clip.lasts)},${wholeFilter(clip.video, "w")},format=yuv420p`;
  const seconds = Math.round(clip.lasts * fps) / fps;
  let graph: Graph = { inputs: [clip], chains: [`[0:V:0]${plain}[base]`], last: "base", seconds };
  const lower = lowerThird && { at: 0.5, seconds: 4, style: {}, ...lowerThird };
  const plate = lower && placeLowerThird(video, lower).box;
  if (logo !== undefined) graph = await withLogo(graph, logo, plate, { clip, context });
  if (lower !== undefined) {
    await checkLetters(lettersOf(lower), context.signal);
    const filter = await assFilter(lowerThirdScript(video, lower), lower.style, context.folder);
    graph = { ...graph, chains: [...graph.chains, `[${graph.last}]${filter}[titled]`], last: "titled" };
  }
  if (endCard !== undefined) graph = await withCard(graph, endCard, clip, context);
  if (clip.audio === null) return graph;
  const sound = `[0:a:0]${soundFor(graph.seconds)},asetpts=PTS-STARTPTS[sound]`;
  return { ...graph, chains: [...graph.chains, sound] };
}

async function withLogo(
  graph: Graph,
  logo: OnDisk<Logo>,
  lowerThird: Box | undefined,
  { clip, context }: { readonly clip: Lasting; readonly context: TaskContext },
): Promise<Graph> {
  const { video } = await openClip(logo.picture.path, "the logo", context.signal);
  const { corner, width, opacity = 1 } = logo;
  const box = logoBox(clip.video, { corner, width, picture: video, lowerThird });
  const chains = [
    `[${graph.inputs.length}:V:0]${laidOverFilter(video, scaleFilter(box), opacity)}[logo]`,
    `[${graph.last}][logo]overlay=${box.x}:${box.y}[branded]`,
  ];
  const inputs = [...graph.inputs, { path: logo.picture.path, name: "the logo" }];
  return { ...graph, inputs, chains: [...graph.chains, ...chains], last: "branded" };
}

async function withCard(graph: Graph, card: OnDisk<EndCard>, clip: Lasting, { signal }: TaskContext): Promise<Graph> {
  const { seconds: shown = SHOWN.seconds, fade = SHOWN.fade } = card;
  const { video } = await openClip(card.picture.path, "the end card", signal);
  const rate = rateOf(clip.video.fps);
  const blend = Math.max(1, Math.round(fade * rate.fps)) / rate.fps;
  if (blend >= clip.lasts || blend >= shown)
    throw new FilmError("FILM_INPUT", "the end card's fade must be shorter than the card and the video");
  const fitted = fitFilter(video, clip.video, { fit: card.fit ?? "blur", label: "c" });
  const held = `tpad=stop_mode=clone:stop_duration=${shown + 1},trim=end_frame=${Math.round(shown * rate.fps)}`;
  const chains = [
    `[${graph.inputs.length}:V:0]fps=${rate.text}:start_time=0,${fitted},format=yuv420p,${held},setpts=PTS-STARTPTS,settb=AVTB[card]`,
    `[${graph.last}]settb=AVTB[before]`,
    `[before][card]xfade=transition=fade:duration=${blend}:offset=${graph.seconds - blend - EARLY / rate.fps}[carded]`,
  ];
  const inputs = [...graph.inputs, { path: card.picture.path, name: "the end card" }];
  return { inputs, chains: [...graph.chains, ...chains], last: "carded", seconds: graph.seconds + shown - blend };
}

function lettersOf({ title, subtitle, style = {} }: LowerThird): Letters {
  return { texts: [title, subtitle].filter((text) => typeof text === "string"), style };
}
