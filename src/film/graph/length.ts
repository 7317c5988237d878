import { oneOf } from "../check-options.ts";

/**
 * How long a film lasts if its video and audio end at different times. `pictures`: audio is cut, or followed by
 * silence. `sound`: the video is cut, or its last frame stays on screen. `longest`: nothing is cut.
 */
export type Length = "pictures" | "sound" | "longest";

export const LENGTH = oneOf("pictures", "sound", "longest");

/** Durations that differ by less than this many seconds are treated as equal. */
export const ALIKE_SECONDS = 0.05;

/** An option for steps whose input is a film with audio. */
export interface LengthOption {
  /** Duration of the film if its video and audio end at different times. Default `longest`. */
  readonly length?: Length | undefined;
}

/**
 * Durations of a film's video (`seconds`) and audio (`sound`). `sound` is null if no audio affects the film's length.
 */
export interface Ends {
  readonly seconds: number;
  readonly sound: number | null;
}

export type EndsOf = (media: unknown) => Ends | null;

export function fitLength(
  what: string,
  { seconds: pictures, sound }: Ends,
  length: Length = "longest",
): { readonly seconds: number; readonly note: string | null } {
  if (sound === null || Math.abs(pictures - sound) < ALIKE_SECONDS) return { seconds: pictures, note: null };
  const seconds = { pictures, sound, longest: Math.max(pictures, sound) }[length];
  const both = `${what} lasts ${say(sound)} and the video ${say(pictures)}`;
  if (seconds > pictures) return { seconds, note: `${both}: the last frame is held for ${say(seconds - pictures)}` };
  if (sound > seconds) return { seconds, note: `${both}: the last ${say(sound - seconds)} of audio are cut` };
  return { seconds, note: pictures > seconds ? `${both}: the last ${say(pictures - seconds)} of video are cut` : null };
}

export function foreseenLength(what: string, film: Ends | null, length?: Length) {
  if (film === null) return { seconds: null, warning: null };
  const { seconds, note } = fitLength(what, film, length);
  return {
    seconds,
    warning:
      note && `${note} (based on expected durations); set the \`length\` option to choose which duration applies`,
  };
}

export function foreseenFilm({
  length,
}: LengthOption): (input: unknown, endsOf: EndsOf) => ReturnType<typeof foreseenLength> {
  return (input, endsOf) =>
    foreseenLength("the audio of the video", endsOf((input as { readonly film: unknown }).film), length);
}

function say(seconds: number): string {
  return `${Number(seconds.toFixed(1))} s`;
}
