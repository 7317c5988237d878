import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";

/** The start and end of speech, or of a line, in seconds. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const RATE = 16_000;
/**
 * Maximum size of the decoded audio, in bytes: four hours of audio. A limit is needed because even a tiny file can
 * claim a long duration.
 */
const MOST_BYTES = 4 * 3600 * RATE * 2;
const STEP = 0.01;
const WINDOW = RATE * STEP;
/** Audio more than 32 dB below the loud parts counts as silence. */
const SILENCE = 10 ** (-32 / 20);
/** Noise level of a quiet room, on a scale up to 32768. */
const FLOOR = 24;
/** Minimum length of a pause, in seconds. Shorter gaps occur within words. */
const SHORTEST_PAUSE = 0.12;
/** Minimum length of speech, in seconds. Shorter sounds are treated as clicks. */
const SHORTEST_SPEECH = 0.04;

export async function readSpeech(
  file: { readonly path: string; readonly name: string },
  folder: string,
  signal: AbortSignal,
): Promise<readonly Span[]> {
  const target = join(folder, "speech.raw");
  const args = [
    ...["-map", "0:a:0", "-af", "aresample=async=1:first_pts=0"],
    ...["-ac", "1", "-ar", String(RATE), "-f", "s16le"],
  ];
  await runFfmpeg({ inputs: [file], args, target, signal, maxBytes: MOST_BYTES });
  const bytes = await readFile(target);
  return findSpeech(new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1));
}

export function findSpeech(samples: Int16Array): readonly Span[] {
  const levels = levelsOf(samples);
  const loud = levels.toSorted((a, b) => a - b)[Math.floor(levels.length * 0.95)] ?? 0;
  const threshold = Math.max(FLOOR, loud * SILENCE);
  const spans: { start: number; end: number }[] = [];
  for (const [index, level] of levels.entries()) {
    if (level < threshold) continue;
    const [start, last] = [index * STEP, spans.at(-1)];
    if (last !== undefined && start - last.end < SHORTEST_PAUSE) last.end = start + STEP;
    else spans.push({ start, end: start + STEP });
  }
  return spans.filter(({ start, end }) => end - start >= SHORTEST_SPEECH);
}

function levelsOf(samples: Int16Array): readonly number[] {
  return Array.from({ length: Math.ceil(samples.length / WINDOW) }, (_, index) => {
    const window = samples.subarray(index * WINDOW, (index + 1) * WINDOW);
    let sum = 0;
    for (const one of window) sum += one * one;
    return Math.sqrt(sum / window.length);
  });
}
