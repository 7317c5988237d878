import { FilmError } from "../ffmpeg/film-error.ts";
import type { Clip } from "./clip.ts";
import { type Fit, fitFilter } from "./fit.ts";
import { PLAIN_SOUND, SAMPLE_RATE } from "./output.ts";
import { EARLY, frameEnds, type Rate, steps } from "./rate.ts";
import type { Pixels } from "./size.ts";

export interface Joining {
  readonly pixels: Pixels;
  readonly rate: Rate;
  readonly fit: Fit;
  readonly fade: number;
  readonly fadeIn: number;
  readonly fadeOut: number;
  /** How much each image is enlarged while it is shown, as a fraction of its size. */
  readonly zoom: number;
}

/** A filter graph with the outputs `[film]` and, if any clip has audio, `[sound]`. */
export interface JoinGraph {
  readonly text: string;
  readonly hasSound: boolean;
  readonly seconds: number;
  readonly starts: readonly number[];
}

/** If at most this many frames are missing at the end of a clip, the last frame replaces them. */
const HELD_FRAMES = 12;

/** Computes all lengths in frames of the whole film, so that video and audio do not drift apart. */
export function joinGraph(clips: readonly Clip[], joining: Joining): JoinGraph {
  const { rate, fade } = joining;
  const seconds = clips.map((clip) => clip.seconds);
  const ends = frameEnds(seconds, rate);
  const frames = steps(ends);
  const overlap = clips.length > 1 ? Math.round(fade * rate.fps) : 0;
  checkFades(clips, frames, overlap);
  const hasSound = clips.some(({ audio }) => audio !== null);
  const samples = (count: number) => Math.round((count / rate.fps) * SAMPLE_RATE);
  const lengths = steps(ends.map(samples));
  const chains = clips.flatMap((clip, index) => [
    pictures(clip, index, { ...joining, frames: frames[index]! }),
    ...(hasSound ? [sound(clip, index, lengths[index]!)] : []),
  ]);
  const total = ends.at(-1)! - overlap * (clips.length - 1);
  const starts = frames.map((_, index) => ((ends[index - 1] ?? 0) - overlap * index) / rate.fps);
  const joined =
    overlap === 0
      ? cut(clips.length, hasSound)
      : blended(starts, { overlap, overlapSamples: samples(overlap), rate, hasSound });
  return {
    text: [...chains, ...joined, ...edges(joining, total / rate.fps, hasSound)].join(";"),
    hasSound,
    seconds: total / rate.fps,
    starts,
  };
}

function checkFades(clips: readonly Clip[], frames: readonly number[], overlap: number): void {
  for (const [index, { name, seconds }] of clips.entries()) {
    const blends = overlap * (index > 0 && index < clips.length - 1 ? 2 : 1);
    if (frames[index]! > blends) continue;
    throw new FilmError(
      "FILM_INPUT",
      `${name} is ${seconds.toFixed(2)} s long, too short for its cross-fades; use a shorter fade`,
    );
  }
}

function pictures(
  { video, seconds }: Clip,
  index: number,
  { pixels, rate, fit, zoom, frames }: Joining & { readonly frames: number },
): string {
  const label = `f${index}`;
  const into = fitFilter(video, pixels, { fit, label });
  const moving = zoom > 0 ? `,${zoomFilter(pixels, { zoom, frames, rate })}` : "";
  const heldSeconds = Math.max(0, seconds - video.seconds);
  const held =
    video.isStill || heldSeconds > 0
      ? `,tpad=stop_mode=clone:stop_duration=${heldSeconds + 1}`
      : `,tpad=stop_mode=clone:stop=${HELD_FRAMES}`;
  return `[${index}:V:0]fps=${rate.text}:start_time=0,${into}${held}${moving},format=yuv420p,trim=end_frame=${frames},setpts=PTS-STARTPTS,settb=AVTB[v${index}]`;
}

/** Zooms at twice the size, because slow movement in whole pixels would look shaky. */
function zoomFilter(
  { width, height }: Pixels,
  { zoom, frames, rate }: Pick<Joining, "zoom" | "rate"> & { readonly frames: number },
): string {
  const large = `scale=${width * 2}:${height * 2}`;
  return `${large},zoompan=z=1+${zoom}*on/${frames}:x=(iw-iw/zoom)/2:y=(ih-ih/zoom)/2:d=1:s=${width}x${height}:fps=${rate.text}`;
}

function sound({ audio }: Clip, index: number, samples: number): string {
  const end = `atrim=end_sample=${samples},asetpts=PTS-STARTPTS[a${index}]`;
  if (audio === null) return `anullsrc=r=${SAMPLE_RATE}:cl=stereo,aformat=sample_fmts=fltp,${end}`;
  return `[${index}:a:0]${PLAIN_SOUND},apad,${end}`;
}

function cut(count: number, hasSound: boolean): readonly string[] {
  const all = Array.from({ length: count }, (_, index) => `[v${index}]${hasSound ? `[a${index}]` : ""}`);
  return [`${all.join("")}concat=n=${count}:v=1:a=${hasSound ? 1 : 0}[joined]${hasSound ? "[heard]" : ""}`];
}

interface Blending {
  readonly overlap: number;
  readonly overlapSamples: number;
  readonly rate: Rate;
  readonly hasSound: boolean;
}

function blended(starts: readonly number[], { overlap, overlapSamples, rate, hasSound }: Blending): readonly string[] {
  const last = starts.length - 1;
  return starts.slice(1).flatMap((start, at) => {
    const index = at + 1;
    const [before, after] = [at === 0 ? "v0" : `x${at}`, index === last ? "joined" : `x${index}`];
    const picture = `[${before}][v${index}]xfade=transition=fade:duration=${overlap / rate.fps}:offset=${start - EARLY / rate.fps}[${after}]`;
    if (!hasSound) return [picture];
    const [heard, next] = [at === 0 ? "a0" : `y${at}`, index === last ? "heard" : `y${index}`];
    return [picture, `[${heard}][a${index}]acrossfade=ns=${overlapSamples}:c1=qsin:c2=qsin[${next}]`];
  });
}

function edges({ fadeIn, fadeOut }: Joining, seconds: number, hasSound: boolean): readonly string[] {
  const both = (letter: "" | "a") => [
    ...(fadeIn > 0 ? [`${letter}fade=t=in:st=0:d=${fadeIn}`] : []),
    ...(fadeOut > 0 ? [`${letter}fade=t=out:st=${Math.max(0, seconds - fadeOut)}:d=${fadeOut}`] : []),
  ];
  return [
    `[joined]${both("").join(",") || "null"}[film]`,
    ...(hasSound ? [`[heard]${both("a").join(",") || "anull"}[sound]`] : []),
  ];
}
