import { joined, type Sound, withLength } from "./sound.ts";
import { type Keep, no, type Unpacked } from "./unpack.ts";

/** Decoded sound, or why it cannot be decoded. */
export type DecodedSound =
  | { readonly ok: true; readonly sound: Sound }
  | { readonly ok: false; readonly reason: string };

/** Collects all that `read` decodes, at its declared length. */
export async function collected(read: (keep: Keep) => Promise<Unpacked>): Promise<DecodedSound> {
  const parts: (readonly Float32Array[])[] = [];
  const unpacked = await read((channels) => parts.push(channels));
  if (!unpacked.ok) return unpacked;
  const [first, ...rest] = (parts[0] ?? []).map((_, i) => joined(parts.map((part) => part[i] ?? new Float32Array(0))));
  if (first === undefined) return no("it has no channels");
  return { ok: true, sound: withLength({ rate: unpacked.rate, channels: [first, ...rest] }, unpacked.samples) };
}
