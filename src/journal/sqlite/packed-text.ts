import { deflateRawSync, inflateRawSync } from "node:zlib";

/** Text as it is stored: deflated where it is large, such as a plan. */
export type EncodedText = string | Uint8Array;

const PACKED_FROM_LENGTH = 4_096;
/** More than this is no text of ours, whatever a foreign file claims. */
const LONGEST_BYTES = 512 * 1024 * 1024;

export function packText(text: string): EncodedText {
  return text.length < PACKED_FROM_LENGTH ? text : deflateRawSync(text, { level: 1 });
}

/** Null when it is damaged. */
export function unpackText(stored: unknown): string | null {
  if (typeof stored === "string") return stored;
  if (!(stored instanceof Uint8Array)) return null;
  try {
    return inflateRawSync(stored, { maxOutputLength: LONGEST_BYTES }).toString();
  } catch {
    return null;
  }
}
