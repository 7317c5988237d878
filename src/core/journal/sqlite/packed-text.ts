import { promisify } from "node:util";
import { deflateRaw, deflateRawSync, inflateRawSync } from "node:zlib";

/** Text as it is stored: deflated where it is large, such as a plan. */
export type EncodedText = string | Uint8Array;

const PACKED_FROM_LENGTH = 4_096;
/** Longer text is deflated in another thread: it would hold up the event loop for tens of milliseconds. */
const PACKED_ASIDE_FROM_LENGTH = 262_144;
/** More than this is no text of ours, whatever a foreign file claims. */
const LONGEST_BYTES = 512 * 1024 * 1024;

const LEVEL = 1;
/** Inflated into pieces of so many bytes, most texts into one. */
const [LEAST_AT_ONCE, MOST_AT_ONCE] = [16_384, 4_194_304];
const TYPICAL_RATIO = 8;
const deflateAside = promisify(deflateRaw) as (text: string, options: object) => Promise<Buffer>;

export function packText(text: string): EncodedText {
  return text.length < PACKED_FROM_LENGTH ? text : deflateRawSync(text, { level: LEVEL });
}

/** Large text is packed meanwhile. */
export function packAside(text: string): EncodedText | Promise<EncodedText> {
  if (text.length < PACKED_ASIDE_FROM_LENGTH) return packText(text);
  return deflateAside(text, { level: LEVEL, chunkSize: PACKED_ASIDE_FROM_LENGTH });
}

/** Null when it is damaged. */
export function unpackText(stored: unknown): string | null {
  if (typeof stored === "string") return stored;
  if (!(stored instanceof Uint8Array)) return null;
  try {
    const chunkSize = Math.min(MOST_AT_ONCE, Math.max(LEAST_AT_ONCE, TYPICAL_RATIO * stored.length));
    return inflateRawSync(stored, { maxOutputLength: LONGEST_BYTES, chunkSize }).toString();
  } catch {
    return null;
  }
}
