import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { runFfmpeg } from "../ffmpeg/run-ffmpeg.ts";

/** A stretch of speech, or of a line of it; seconds. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const RATE = 16_000;
/** Read as a whole: more than four hours of it, in a file that may be tiny, would fill the memory. */
const MOST_BYTES = 4 * 3600 * RATE * 2;
/** The level is looked at so often, seconds. */
const STEP = 0.01;
const WINDOW = RATE * STEP;
/** What lies so far below the loud parts of a speech is silence, as a ratio of amplitudes: -32 dB. */
const SILENCE = 10 ** (-32 / 20);
/** The level of a room where nobody speaks, of 32768. */
const FLOOR = 24;
/** A gap this short is within a word, seconds. */
const SHORTEST_PAUSE = 0.12;
/** Less is a click, seconds. */
const SHORTEST_SPEECH = 0.04;

/** Finds where somebody speaks in a file, in order. `folder`: for the samples. */
export async function readSpeech(
  file: { readonly path: string; readonly name: string },
  folder: string,
  signal: AbortSignal,
): Promise<readonly Span[]> {
  const target = join(folder, "speech.raw");
  const args = [
    "-map",
    "0:a:0",
    "-af",
    "aresample=async=1:first_pts=0",
    "-ac",
    "1",
    "-ar",
    String(RATE),
    "-f",
    "s16le",
  ];
  await runFfmpeg({ inputs: [file], args, target, signal, maxBytes: MOST_BYTES });
  const bytes = await readFile(target);
  return findSpeech(new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1));
}

/** The stretches of samples, 16 000 a second, that are not silent. */
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
