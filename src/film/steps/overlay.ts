import type { LocalFile, Media, OrValue, TaskContext } from "../../define/index.ts";
import { ass, assEvent, assText, type LetterStyle } from "../captions/ass.ts";
import { assFilter, fontsDrawn } from "../captions/burn.ts";
import { FilmError } from "../ffmpeg/film-error.ts";
import { probe } from "../ffmpeg/probe.ts";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";
import { filmTask, type StepFields, splitOptions, type Task } from "../film-task.ts";
import { type Clip, openClip } from "../graph/clip.ts";
import { fitFilter } from "../graph/fit.ts";
import { filmArgs, PLAIN_SOUND, SAMPLE_RATE, SOUND_ARGS } from "../graph/output.ts";
import { rateOf } from "../graph/rate.ts";

export type Corner = "top-left" | "top-right" | "bottom-left" | "bottom-right";

export interface Logo {
  readonly picture: Media<"image">;
  /** Default `top-right`. */
  readonly corner?: Corner;
  /** Width as a part of the film's. Default 0.14. */
  readonly width?: number;
  /** From 0 to 1. Default 1. */
  readonly opacity?: number;
}

export interface LowerThird {
  readonly title: OrValue<string>;
  readonly subtitle?: OrValue<string>;
  /** Seconds of the film. Default from 0.5 for 4. */
  readonly at?: number;
  readonly seconds?: number;
  readonly style?: LetterStyle;
}

export interface EndCard {
  /** Fills the frame, in which it is fitted by `crop`. */
  readonly picture: Media<"image">;
  /** Default 2. */
  readonly seconds?: number;
  /** Seconds for which the film is blended into it; the film is shorter by so much. Default 0.3. */
  readonly fade?: number;
}

export interface OverlayOptions extends StepFields {
  readonly logo?: Logo;
  readonly lowerThird?: LowerThird;
  /** Shown after the film, which gets longer by it. */
  readonly endCard?: EndCard;
}

/** A logo and a lower third over a film, and a card after it. */
export function overlay(task: Task, name: string, film: Media<"video">, options: OverlayOptions) {
  const { step, own } = splitOptions(options);
  return filmTask(
    task,
    name,
    { film, ...own },
    {
      files: { film: "video" },
      version: "1",
      needs: own.lowerThird === undefined ? [] : ["lettering"],
      step,
      make: (given, context) => overlayFile(given as unknown as Given, context),
    },
  );
}

type OnDisk<T> = Omit<T, "picture"> & { readonly picture: LocalFile };

interface Given {
  readonly film: LocalFile;
  readonly logo?: OnDisk<Logo>;
  readonly lowerThird?: LowerThird & { readonly title: string; readonly subtitle?: string };
  readonly endCard?: OnDisk<EndCard>;
}

async function overlayFile({ film, logo, lowerThird, endCard }: Given, context: TaskContext) {
  const { signal, progress, file, folder } = context;
  const clip = await openClip(film.path, "the film", signal);
  const rate = rateOf(clip.video.fps);
  const inputs: { path: string; name: string }[] = [clip];
  const chains = [
    `[0:V:0]fps=${rate.text}:start_time=0,scale=${clip.video.width}:${clip.video.height},setsar=1,format=yuv420p[base]`,
  ];
  let last = "base";
  if (logo !== undefined) {
    await picture(logo.picture, "the logo", signal);
    inputs.push({ path: logo.picture.path, name: "the logo" });
    chains.push(...logoChains(logo, clip, inputs.length - 1), `[${last}][logo]overlay=${place(logo, clip)}[branded]`);
    last = "branded";
  }
  if (lowerThird !== undefined) {
    chains.push(`[${last}]${await assFilter(lowerScript(lowerThird, clip), lowerThird.style ?? {}, folder)}[titled]`);
    last = "titled";
  }
  const seconds = endCard === undefined ? clip.seconds : await addCard(endCard);
  async function addCard({ picture: card, seconds: shown = 2, fade = 0.3 }: OnDisk<EndCard>): Promise<number> {
    const { video } = await picture(card, "the end card", signal);
    inputs.push({ path: card.path, name: "the end card" });
    const blend = Math.max(1, Math.round(fade * rate.fps)) / rate.fps;
    if (blend >= clip.seconds || blend >= shown)
      throw new FilmError("FILM_INPUT", "the end card's fade is longer than it or the film");
    const from = { pixels: clip.video, frames: Math.round(shown * rate.fps) };
    chains.push(
      `[${inputs.length - 1}:V:0]fps=${rate.text}:start_time=0,${fitFilter(video!, from.pixels, { fit: "crop", label: "c" })},format=yuv420p,tpad=stop_mode=clone:stop_duration=${shown + 1},trim=end_frame=${from.frames},setpts=PTS-STARTPTS,settb=AVTB[card]`,
      `[${last}]settb=AVTB[film0]`,
      `[film0][card]xfade=transition=fade:duration=${blend}:offset=${clip.seconds - blend}[carded]`,
    );
    last = "carded";
    return clip.seconds + shown - blend;
  }
  const hasSound = clip.audio !== null;
  if (hasSound)
    chains.push(
      `[0:a:0]${PLAIN_SOUND},apad,atrim=end_sample=${Math.round(seconds * SAMPLE_RATE)},asetpts=PTS-STARTPTS[sound]`,
    );
  const said = await runFfmpeg({
    inputs,
    args: [
      ...["-filter_complex", chains.join(";"), "-map", `[${last}]`],
      ...(hasSound ? ["-map", "[sound]", ...SOUND_ARGS] : []),
      ...(await filmArgs()).args,
      ...["-r", rate.text],
    ],
    target: file("film"),
    seconds,
    signal,
    onProgress: progress,
    cwd: folder,
    isVerbose: true,
  });
  return { seconds, fonts: fontsDrawn(said) };
}

async function picture({ path }: LocalFile, name: string, signal: AbortSignal) {
  const probed = await probe(path, { name, signal });
  if (probed.video === null) throw new FilmError("CLIP_DAMAGED", `${name} is no picture`);
  return probed;
}

function logoChains({ width = 0.14, opacity = 1 }: OnDisk<Logo>, { video }: Clip, input: number): readonly string[] {
  const wide = Math.max(8, Math.round(video.width * width));
  return [`[${input}:V:0]format=rgba,scale=${wide}:-1,colorchannelmixer=aa=${opacity}[logo]`];
}

function place({ corner = "top-right" }: OnDisk<Logo>, { video }: Clip): string {
  const margin = Math.round(Math.min(video.width, video.height) * 0.04);
  const x = corner.endsWith("left") ? `${margin}` : `W-w-${margin}`;
  return `${x}:${corner.startsWith("top") ? margin : `H-h-${margin}`}`;
}

function lowerScript(
  { title, subtitle, at = 0.5, seconds = 4, style = {} }: NonNullable<Given["lowerThird"]>,
  { video }: Clip,
): string {
  const under = subtitle === undefined ? "" : `\\N{\\fscx70\\fscy70\\b0}${assText(subtitle)}`;
  const text = `{\\fad(200,200)}${assText(title)}${under}`;
  return ass([assEvent({ start: at, end: at + seconds }, text)], {
    pixels: video,
    style: { box: true, ...style },
    isLeft: true,
  });
}
