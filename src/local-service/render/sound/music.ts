import { between, pick, type Random, randomFrom } from "../random.ts";
import type { Sound } from "./sound.ts";

const RATE = 48_000;
const MASTER = 0.5;

type Mode = readonly number[];
const MAJOR: Mode = [0, 2, 4, 5, 7, 9, 11];
const MINOR: Mode = [0, 2, 3, 5, 7, 8, 10];
const MAJOR_TURNS: readonly [number[], ...number[][]] = [
  [0, 4, 5, 3],
  [0, 5, 3, 4],
  [0, 2, 5, 3],
];
const MINOR_TURNS: readonly [number[], ...number[][]] = [
  [0, 5, 2, 6],
  [0, 3, 5, 4],
  [0, 6, 5, 6],
];

interface Stereo {
  readonly left: Float32Array;
  readonly right: Float32Array;
}

export function composeMusic(prompt: string, seed: number, seconds: number): Sound {
  const random = randomFrom("music", prompt, seed);
  const words = prompt.toLowerCase();
  const dark = /\b(night|dark|sad|storm|rain|noir|tense|dramatic|space|winter|lonely|mystery)\b/.test(words);
  const lively = /\b(party|fast|happy|fun|dance|sport|energetic|race|car|playful|city)\b/.test(words);
  const scale = dark ? MINOR : MAJOR;
  const turn = pick(random, dark ? MINOR_TURNS : MAJOR_TURNS);
  const root = 45 + Math.floor(random() * 7);
  const barSeconds = lively ? 1.9 : 2.6;
  const track: Stereo = {
    left: new Float32Array(Math.ceil(seconds * RATE)),
    right: new Float32Array(Math.ceil(seconds * RATE)),
  };
  for (let bar = 0; bar * barSeconds < seconds; bar++) {
    const degree = turn[bar % turn.length] ?? 0;
    const chord = [0, 2, 4, 6].map((third) => noteAt(scale, root + 12, degree + third));
    addPad(track, chord, bar * barSeconds, barSeconds);
    addBass(track, noteAt(scale, root, degree), bar * barSeconds, barSeconds);
    addPlucks(track, chord, bar * barSeconds, barSeconds, lively ? 8 : 4, random);
  }
  addEcho(track, 0.36, 0.3);
  addNature(track, words, random);
  finish(track, seconds);
  return { rate: RATE, channels: [track.left, track.right] };
}

function noteAt(scale: Mode, root: number, degree: number): number {
  const note = root + 12 * Math.floor(degree / scale.length) + (scale[degree % scale.length] ?? 0);
  return 440 * 2 ** ((note - 69) / 12);
}

function addTone(
  track: Stereo,
  hz: number,
  start: number,
  length: number,
  gain: number,
  pan: number,
  shape: (t: number) => number,
): void {
  const first = Math.floor(start * RATE);
  const count = Math.min(Math.floor(length * RATE), track.left.length - first);
  // A rotating vector is much cheaper than a sine per sample.
  const turn = (2 * Math.PI * hz) / RATE;
  const [c, s] = [Math.cos(turn), Math.sin(turn)];
  let x = 1;
  let y = 0;
  for (let i = 0; i < count; i++) {
    const value = y * (1 + 0.5 * x + 0.3 * (1 - 2 * y * y)) * shape(i / (length * RATE)) * gain;
    track.left[first + i] = (track.left[first + i] ?? 0) + value * (1 - pan);
    track.right[first + i] = (track.right[first + i] ?? 0) + value * pan;
    [x, y] = [x * c - y * s, x * s + y * c];
  }
}

function addPad(track: Stereo, chord: readonly number[], start: number, length: number): void {
  const swell = (t: number) => Math.sin(Math.PI * Math.min(1, t)) ** 0.8;
  for (const [i, hz] of chord.entries()) {
    for (const detune of [0.9985, 1.0015])
      addTone(track, hz * detune, start, length * 1.35, 0.055, 0.25 + 0.17 * i, swell);
  }
}

function addBass(track: Stereo, hz: number, start: number, length: number): void {
  addTone(track, hz, start, length * 1.05, 0.16, 0.5, (t) => Math.min(1, t * 25) * (1 - t) ** 0.7);
}

function addPlucks(
  track: Stereo,
  chord: readonly number[],
  start: number,
  length: number,
  count: number,
  random: Random,
): void {
  for (let i = 0; i < count; i++) {
    if (random() < 0.18) continue;
    const hz = (chord[Math.floor(random() * chord.length)] ?? 440) * (random() < 0.35 ? 4 : 2);
    const at = start + (i / count) * length;
    addTone(
      track,
      hz,
      at,
      1.1,
      between(random, 0.05, 0.085),
      between(random, 0.2, 0.8),
      (t) => Math.min(1, t * 180) * Math.exp(-6 * t),
    );
  }
}

function addEcho(track: Stereo, seconds: number, feedback: number): void {
  const delay = Math.floor(seconds * RATE);
  const { left, right } = track;
  for (let i = delay; i < left.length; i++) {
    // The channels are swapped, so that the echo moves from side to side.
    left[i] = (left[i] ?? 0) + feedback * (right[i - delay] ?? 0);
    right[i] = (right[i] ?? 0) + feedback * (left[i - delay] ?? 0);
  }
}

function addNature(track: Stereo, words: string, random: Random): void {
  const sea = /\b(sea|ocean|beach|waves?|coast|surf|sail\w*|boat|lake|shore)\b/.test(words);
  const rain = /\b(rain|rainy|storm|stormy|drizzle)\b/.test(words);
  const wind = /\b(wind|windy|mountains?|desert|snow|snowy|peaks?|dunes?)\b/.test(words);
  if (!sea && !rain && !wind) return;
  const [gain, smooth, period] = rain ? [0.05, 0.35, 0] : sea ? [0.14, 0.06, 4.2] : [0.1, 0.02, 6];
  for (const [ear, shift] of [
    [track.left, 0],
    [track.right, 0.8],
  ] as const) {
    let low = 0;
    for (let i = 0; i < ear.length; i++) {
      low += smooth * (random() * 2 - 1 - low);
      const swell = period === 0 ? 1 : 0.25 + 0.75 * Math.sin((Math.PI * (i / RATE + shift)) / period) ** 2;
      ear[i] = (ear[i] ?? 0) + (low * gain * swell) / Math.sqrt(smooth);
    }
  }
}

function finish(track: Stereo, seconds: number): void {
  let peak = 1e-6;
  for (const ear of [track.left, track.right]) for (const sample of ear) peak = Math.max(peak, Math.abs(sample));
  const fadeIn = Math.floor(Math.min(0.15, seconds / 4) * RATE);
  const fadeOut = Math.floor(Math.min(0.9, seconds / 3) * RATE);
  for (const ear of [track.left, track.right]) {
    for (let i = 0; i < ear.length; i++) {
      ear[i] = (ear[i] ?? 0) * (MASTER / peak) * Math.min(1, i / fadeIn, (ear.length - 1 - i) / fadeOut);
    }
  }
}
