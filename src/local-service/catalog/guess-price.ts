import { customShotsMs } from "../render/video/storyboard.ts";
import type { JobKind } from "../store/rows.ts";
import type { Work } from "./model.ts";

const PER_PICTURE_MICROS = 20_000;
const PER_SECOND_MICROS = 50_000;
const PER_CHARACTER_MICROS = 30;
const PER_VOICE_MICROS = 500_000;
const ASSUMED_MS = 5_000;

const number = (value: unknown, fallback: number) => (typeof value === "number" && value > 0 ? value : fallback);

/** Expected duration of the output. */
export function lengthMs({ input, media }: Work): number {
  const sound = (media["audio"] ?? []).reduce((sum, item) => sum + (item.durationMs ?? 0), 0);
  return customShotsMs(input) ?? number(input["duration_ms"], sound > 0 ? sound : ASSUMED_MS);
}

export function characters({ input }: Work): number {
  return [input["text"], input["prompt"]].reduce(
    (sum: number, text) => sum + (typeof text === "string" ? text.length : 0),
    0,
  );
}

/** Fallback price for a model whose price is stated in prose only: per picture, second, character or voice. */
export function guessPriceMicros(kind: Exclude<JobKind, "chat">, work: Work): number {
  const outputs = number(work.input["num_outputs"], 1);
  switch (kind) {
    case "image":
      return PER_PICTURE_MICROS * outputs;
    case "video":
    case "avatar":
      return PER_SECOND_MICROS * Math.ceil(lengthMs(work) / 1000) * outputs;
    case "speech":
      return Math.max(1_000, PER_CHARACTER_MICROS * characters(work));
    case "voice":
      return PER_VOICE_MICROS;
    default:
      return kind satisfies never;
  }
}

/** Simulated processing time, before the speed factor. */
export function guessRenderMs(kind: Exclude<JobKind, "chat">, work: Work): number {
  if (kind === "video" || kind === "avatar") return 6_000 + 0.8 * lengthMs(work);
  return kind === "image" ? 2_000 : 3_000;
}
