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
