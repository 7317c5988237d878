/** Decoded audio. Samples are in [-1, 1], and all channels have the same length. */
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

export function withLength(sound: Sound, length: number): Sound {
  const [first, ...rest] = sound.channels.map((channel) => {
    const out = new Float32Array(length);
    out.set(channel.subarray(0, length));
    return out;
  });
  return { rate: sound.rate, channels: [first ?? new Float32Array(length), ...rest] };
}

export function joined(parts: readonly Float32Array[]): Float32Array {
  const out = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export function joinSounds(first: Sound, rest: readonly Sound[]): Sound {
  if (rest.length === 0) return first;
  const parts = [first, ...rest].map((sound) => toMono(toRate(sound, first.rate)));
  return { rate: first.rate, channels: [joined(parts)] };
}

const HALF_WIDTH = 16;
const PHASES = 256;

/** Resamples a sound. A `step` of 2 halves its length and raises its pitch by an octave. */
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

const LOWEST_HZ = 60;
const HIGHEST_HZ = 500;
const ABSOLUTE_THRESHOLD = 0.15;
const QUIET_DB = -50;
const BELOW_PEAK_DB = 30;
const ANALYSIS_RATE_MIN = 16_000;

/** Computes the pitch with the YIN algorithm, or returns null for an unvoiced frame. */
export function pitchOfFrame(samples: Float32Array, start: number, window: number, rate: number): number | null {
  const longest = Math.floor(rate / LOWEST_HZ);
  const shortest = Math.floor(rate / HIGHEST_HZ);
  if (start + window + longest >= samples.length) return null;
  const normalized = new Float32Array(longest + 1).fill(1);
  let running = 0;
  for (let lag = 1; lag <= longest; lag++) {
    let difference = 0;
    for (let i = start; i < start + window; i++) {
      const delta = (samples[i] ?? 0) - (samples[i + lag] ?? 0);
      difference += delta * delta;
    }
    running += difference;
    normalized[lag] = running === 0 ? 1 : (difference * lag) / running;
  }
  for (let lag = shortest; lag < longest; lag++) {
    if ((normalized[lag] ?? 1) >= ABSOLUTE_THRESHOLD) continue;
    while (lag + 1 < longest && (normalized[lag + 1] ?? 1) < (normalized[lag] ?? 1)) lag++;
    return rate / vertexNear(normalized, lag);
  }
  return null;
}

export function medianPitch(samples: Float32Array, rate: number): number | null {
  const stride = Math.max(1, Math.floor(rate / ANALYSIS_RATE_MIN));
  const signal = stride === 1 ? samples : decimate(samples, stride);
  const effectiveRate = rate / stride;
  const window = Math.round(effectiveRate * 0.03);
  const hop = Math.max(Math.round(effectiveRate * 0.01), Math.floor(signal.length / 1500));
  const gate = loudGate(signal, window);
  const found: number[] = [];
  for (let start = 0; start + window < signal.length; start += hop) {
    if (levelDb(signal, start, window) < gate) continue;
    const pitch = pitchOfFrame(signal, start, window, effectiveRate);
    if (pitch !== null) found.push(pitch);
  }
  return found.length < 3 ? null : median(found);
}

/** Returns the loudness of the parts that are not silent, in dB relative to full scale. */
export function activeLoudness(samples: Float32Array, rate: number): number | null {
  const window = Math.max(1, Math.round(rate * 0.03));
  const gate = loudGate(samples, window);
  let energy = 0;
  let frames = 0;
  for (let start = 0; start + window <= samples.length; start += window) {
    const level = levelDb(samples, start, window);
    if (level < gate) continue;
    energy += 10 ** (level / 10);
    frames++;
  }
  return frames === 0 ? null : 10 * Math.log10(energy / frames);
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

function loudGate(samples: Float32Array, window: number): number {
  let loudest = -120;
  for (let start = 0; start + window <= samples.length; start += window) {
    loudest = Math.max(loudest, levelDb(samples, start, window));
  }
  return Math.max(QUIET_DB, loudest - BELOW_PEAK_DB);
}

function levelDb(samples: Float32Array, start: number, window: number): number {
  let sum = 0;
  for (let i = start; i < start + window; i++) sum += (samples[i] ?? 0) ** 2;
  return 10 * Math.log10(sum / window + 1e-12);
}

function vertexNear(curve: Float32Array, at: number): number {
  const left = curve[at - 1] ?? 0;
  const middle = curve[at] ?? 0;
  const right = curve[at + 1] ?? 0;
  const bend = left + right - 2 * middle;
  return bend === 0 ? at : at + (left - right) / (2 * bend);
}

function decimate(samples: Float32Array, stride: number): Float32Array {
  const out = new Float32Array(Math.floor(samples.length / stride));
  for (let i = 0; i < out.length; i++) {
    let sum = 0;
    for (let j = 0; j < stride; j++) sum += samples[i * stride + j] ?? 0;
    out[i] = sum / stride;
  }
  return out;
}
