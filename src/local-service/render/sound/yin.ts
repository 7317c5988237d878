const LOWEST_HZ = 60;
const HIGHEST_HZ = 500;
const ABSOLUTE_THRESHOLD = 0.15;
const QUIET_DB = -50;
const BELOW_PEAK_DB = 30;
const ANALYSIS_RATE_MIN = 16_000;

/** Pitch of one frame in hertz, or null where nothing is voiced (YIN, de Cheveigné and Kawahara 2002). */
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

/** Median pitch of the voiced parts in hertz; null when too little is voiced. `rate` in samples a second. */
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

/** Loudness of the parts that sound, in dB below full scale (root mean square); null for silence. */
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
