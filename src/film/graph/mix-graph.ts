import { PLAIN_SOUND, SAMPLE_RATE } from "./output.ts";

/** One sound in a mix: the number of its input, and where it lies. */
export interface Layer {
  readonly input: number;
  readonly role: "film" | "voice" | "music" | "effect";
  /** Seconds from the beginning. */
  readonly at: number;
  /** Decibels. */
  readonly volume: number;
}

export interface Mixing {
  readonly seconds: number;
  /** Decibels by which music and the film's own sound step back under the voice, about; 0: they do not. */
  readonly duck: number;
  /** Seconds over which the music ends with the film. */
  readonly musicFade: number;
}

/** A graph whose output `[mixed]` is as long as the film. Nothing is made quieter for being one of several. */
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

/** A voice lies well above this, its breath below. */
const THRESHOLD = 0.015;

/** A voice at its usual level is some 24 dB above the threshold, which the ratio turns into the step back. */
function ducking(decibels: number): string {
  const over = 24;
  const ratio = Math.min(20, over / Math.max(1, over - decibels));
  return `sidechaincompress=threshold=${THRESHOLD}:ratio=${ratio.toFixed(3)}:attack=30:release=350:makeup=1`;
}
