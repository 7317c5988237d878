/** Decoded sound: one array of samples in [-1, 1] per channel, all of one length. */
export interface Sound {
  readonly rate: number;
  readonly channels: readonly [Float32Array, ...Float32Array[]];
}

export function lengthOf(sound: Sound): number {
  return sound.channels[0].length;
}

export function durationMsOf(sound: Sound): number {
  return (lengthOf(sound) / sound.rate) * 1000;
}

/** The channels averaged into one. */
export function toMono(sound: Sound): Float32Array {
  const [first, ...rest] = sound.channels;
  if (rest.length === 0) return first;
  const mixed = Float32Array.from(first);
  for (const channel of rest) {
    for (let i = 0; i < mixed.length; i++) mixed[i] = (mixed[i] ?? 0) + (channel[i] ?? 0);
  }
  const scale = 1 / sound.channels.length;
  for (let i = 0; i < mixed.length; i++) mixed[i] = (mixed[i] ?? 0) * scale;
  return mixed;
}

/** The sound cut, or lengthened with silence, to exactly `length` samples. */
export function withLength(sound: Sound, length: number): Sound {
  const [first, ...rest] = sound.channels.map((channel) => {
    const out = new Float32Array(length);
    out.set(channel.subarray(0, length));
    return out;
  });
  return { rate: sound.rate, channels: [first ?? new Float32Array(length), ...rest] };
}

/** The stretches of samples one after the other. */
export function joined(parts: readonly Float32Array[]): Float32Array {
  const out = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** One sound after the other, at the rate of the first; several become mono. */
export function joinSounds(first: Sound, rest: readonly Sound[]): Sound {
  if (rest.length === 0) return first;
  const parts = [first, ...rest].map((sound) => toMono(toRate(sound, first.rate)));
  return { rate: first.rate, channels: [joined(parts)] };
}

const HALF_WIDTH = 16;
const PHASES = 256;

/**
 * Reads `input` at steps of `step` samples through a windowed sinc: a step of 2 plays it twice as fast, an octave
 * higher. Frequencies that the step would fold back are removed first.
 */
export function resampleBy(input: Float32Array, step: number): Float32Array {
  const length = Math.max(1, Math.round(input.length / step));
  const output = new Float32Array(length);
  const cutoff = Math.min(1, 1 / step);
  const reach = Math.ceil(HALF_WIDTH / cutoff);
  const table = sincTable(cutoff, reach);
  for (let i = 0; i < length; i++) {
    const at = i * step;
    const whole = Math.floor(at);
    const phase = Math.round((at - whole) * PHASES);
    let sum = 0;
    for (let tap = -reach + 1; tap <= reach; tap++) {
      const sample = input[whole + tap];
      if (sample !== undefined) sum += sample * (table[Math.abs(tap * PHASES - phase)] ?? 0);
    }
    output[i] = sum;
  }
  return output;
}

/** The same sound at another sample rate. */
export function toRate(sound: Sound, rate: number): Sound {
  if (sound.rate === rate) return sound;
  const [first, ...rest] = sound.channels;
  const convert = (channel: Float32Array) => resampleBy(channel, sound.rate / rate);
  return { rate, channels: [convert(first), ...rest.map(convert)] };
}

function sincTable(cutoff: number, reach: number): Float32Array {
  const table = new Float32Array((reach + 1) * PHASES + 1);
  for (let i = 0; i < table.length; i++) {
    const x = i / PHASES;
    const inside = x < reach ? 0.5 + 0.5 * Math.cos((Math.PI * x) / reach) : 0;
    const angle = Math.PI * x * cutoff;
    table[i] = cutoff * inside * (i === 0 ? 1 : Math.sin(angle) / angle);
  }
  return table;
}
