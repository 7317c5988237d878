export interface WavHeader {
  /** Offset of the audio data in bytes. */
  readonly dataAt: number;
  readonly dataBytes: number;
  /** Offset of the content of the `fmt ` chunk; 0 without one. */
  readonly formatAt: number;
  /** True if the data's size was unknown when the header was written; the data then extends to the end of the file. */
  readonly isOpen: boolean;
  /** Bytes per second of audio. */
  readonly byteRate: number;
}

/** For an unknown size, programs that cannot seek back write 0, this number or more, or (rarely) two billion. */
const LARGEST = 0x7fff_ff00;
const BILLION = 1_000_000_000;

/**
 * True if a size in a RIFF header only means "unknown". `held`: number of bytes present. The plausible size of a
 * truncated file does not count as unknown.
 */
export function isUnknownRiffSize(size: number, held: number): boolean {
  if (size === 0) return held > 0;
  return size > held && (size >= LARGEST || (size >= BILLION && held < size / 10));
}

/**
 * Parses the beginning of a file with this many bytes; null if it is not a WAV file or does not show where the data is.
 */
export function readWavHeader(begin: Buffer, fileBytes: number): WavHeader | null {
  if (begin.toString("latin1", 0, 4) !== "RIFF" || begin.toString("latin1", 8, 12) !== "WAVE") return null;
  let [formatAt, byteRate] = [0, 0];
  for (let at = 12; at + 8 <= begin.length; ) {
    const type = begin.toString("latin1", at, at + 4);
    const size = begin.readUInt32LE(at + 4);
    if (type === "fmt " && at + 24 <= begin.length) [formatAt, byteRate] = [at + 8, begin.readUInt32LE(at + 16)];
    if (type === "data") {
      const held = Math.max(0, fileBytes - at - 8);
      const isOpen = isUnknownRiffSize(size, held);
      return { dataAt: at + 8, dataBytes: isOpen ? held : Math.min(size, held), isOpen, formatAt, byteRate };
    }
    at += 8 + size + (size % 2);
  }
  return null;
}

/** The header with the real sizes filled in. The format cannot express more than 4 GB. */
export function closedWavBegin(begin: Buffer, { dataAt, dataBytes }: WavHeader): Buffer {
  const closed = Buffer.from(begin.subarray(0, dataAt));
  closed.writeUInt32LE(Math.min(0xffff_ffff, dataAt - 8 + dataBytes), 4);
  closed.writeUInt32LE(Math.min(0xffff_ffff, dataBytes), dataAt - 4);
  return closed;
}
