export interface WavHeader {
  readonly dataAt: number;
  readonly dataBytes: number;
  readonly formatAt: number;
  /** True if the data's size was unknown when the header was written; the data then extends to the end of the file. */
  readonly isOpen: boolean;
  readonly byteRate: number;
}

/** A size this large or larger means "unknown". Some programs write 0 or two billion instead. */
const LARGEST = 0x7fff_ff00;
const BILLION = 1_000_000_000;

/** True if a size in a RIFF header means "unknown". `held`: the number of bytes present. */
export function isUnknownRiffSize(size: number, held: number): boolean {
  if (size === 0) return held > 0;
  return size > held && (size >= LARGEST || (size >= BILLION && held < size / 10));
}

/** Reads a WAV header; null for other files, or if `begin` is too short to find the data. */
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

export function closedWavBegin(begin: Buffer, { dataAt, dataBytes }: WavHeader): Buffer {
  const closed = Buffer.from(begin.subarray(0, dataAt));
  closed.writeUInt32LE(Math.min(0xffff_ffff, dataAt - 8 + dataBytes), 4);
  closed.writeUInt32LE(Math.min(0xffff_ffff, dataBytes), dataAt - 4);
  return closed;
}
