import { PLAIN_SOUND, SAMPLE_RATE } from "./output.ts";

export interface Layer {
  readonly input: number;
  readonly role: "film" | "voice" | "music" | "effect";
  readonly at: number;
  /** Level in decibels. */
  readonly volume: number;
}

export interface Mixing {
  readonly seconds: number;
  /** Approximate number of decibels by which the voice lowers music and the film's own audio. */
  readonly duck: number;
  readonly musicFade: number;
}

/**
 * Returns a filter graph that adds up the sounds without normalizing their levels. Its output `[mixed]` is as long as
 * the film.
 */
export function mixGraph(layers: readonly Layer[], mixing: Mixing): string {
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

/** Level at which the voice starts to lower other sounds: well below a voice, but above its breath. */
const THRESHOLD = 0.015;

function ducking(decibels: number): string {
  const over = 24;
  const ratio = Math.min(20, over / Math.max(1, over - decibels));
  return `sidechaincompress=threshold=${THRESHOLD}:ratio=${ratio.toFixed(3)}:attack=30:release=350:makeup=1`;
}
