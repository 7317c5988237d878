import type { LocalFile, Media, TaskContext } from "../../core/define/index.ts";
import { any, checkOptions, color, format, size, unfit } from "../check-options.ts";
import { FilmError } from "../ffmpeg/film-error.ts";
import { probe } from "../ffmpeg/probe.ts";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";
import { FROM_RGB } from "../ffmpeg/shown.ts";
import { filmTask, type StepFields, splitOptions, type Task } from "../film-task.ts";
import { openClip } from "../graph/clip.ts";
import { type Format, fitFilter, pixelsOf, type Size } from "../graph/frame.ts";
import { filmArgs, PLAIN_SOUND, SAMPLE_RATE, SOUND_ARGS } from "../graph/output.ts";

/** Options for `audiogram`. */
export interface AudiogramOptions extends StepFields {
  /** Image behind the waveform, cropped to the frame. */
  readonly picture: Media<"image">;
  /** Size of the film. Default `1080p`. */
  readonly size?: Size;
  /** Aspect ratio of the film. Default `1:1`. */
  readonly format?: Format;
  /** Color of the waveform, `#rrggbb`. Default white. */
  readonly color?: string;
}

/** Makes a film from audio. The waveform of the audio moves over an image. */
export function audiogram(task: Task, name: string, sound: Media<"audio">, options: AudiogramOptions) {
  const { step, own } = splitOptions(options);
  checkOptions(name, own, { picture: any, size, format, color });
  if (own.picture === undefined) throw unfit(`${name}: \`picture\` is missing; set it to the background image`);
  return filmTask(
    task,
    name,
    { sound, ...own },
    {
      files: { film: "video" },
      version: "2",
      needs: ["waves"],
      step,
      make: (given, context) => audiogramFile(given as unknown as Given, context),
    },
  );
}

interface Given {
  readonly sound: LocalFile;
  readonly picture: LocalFile;
  readonly size?: Size;
  readonly format?: Format;
  readonly color?: string;
}

const FPS = 25;

async function audiogramFile(given: Given, { signal, progress, file }: TaskContext) {
  const { size = "1080p", format = "1:1", color = "#ffffff" } = given;
  const [sound, picture] = await Promise.all([
    probe(given.sound.path, { name: "the audio", signal }),
    openClip(given.picture.path, "the background", signal),
  ]);
  if (sound.audio === null) throw new FilmError("CLIP_DAMAGED", "the audio file contains no audio");
  const pixels = pixelsOf(picture.video, size, format);
  const frames = Math.round(sound.audio.seconds * FPS);
  const seconds = frames / FPS;
  const [wide, high] = [pixels.width, Math.round(pixels.height / 5)];
  const graph = [
    `[1:V:0]fps=${FPS}:start_time=0,${fitFilter(picture.video, pixels, { fit: "crop", label: "p" })},format=yuv420p,tpad=stop_mode=clone:stop_duration=${seconds + 1},trim=end_frame=${frames}[back]`,
    `[0:a:0]${PLAIN_SOUND},apad,atrim=end_sample=${Math.round(seconds * SAMPLE_RATE)},asplit[sound][shown]`,
    `[shown]pan=mono|c0=0.5*c0+0.5*c1,volume=6dB,showwaves=s=${wide}x${high}:mode=cline:rate=${FPS}:colors=${color.replace("#", "0x")}:draw=full:scale=sqrt,format=rgba,${FROM_RGB},format=yuva420p[wave]`,
    `[back][wave]overlay=0:H*0.78-h/2:shortest=0:eof_action=repeat,trim=end_frame=${frames}[film]`,
  ];
  await runFfmpeg({
    inputs: [
      { path: sound.path, name: "the audio" },
      { path: picture.path, name: "the background" },
    ],
    args: [
      ...["-filter_complex", graph.join(";"), "-map", "[film]", "-map", "[sound]"],
      ...SOUND_ARGS,
      ...(await filmArgs()).args,
      ...["-r", String(FPS)],
    ],
    target: file("film"),
    seconds,
    signal,
    onProgress: progress,
  });
  return { seconds, ...pixels };
}
