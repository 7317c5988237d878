/** What a WAV says of its sound before it begins. */
export interface WavHeader {
  /** Where the sound begins, bytes. */
  readonly dataAt: number;
  /** Bytes of sound that the file holds. */
  readonly dataBytes: number;
  /** The size of the sound was not known when the header was written: it goes to the end of the file. */
  readonly isOpen: boolean;
  /** Bytes of a second of sound. */
  readonly byteRate: number;
}

/** Programs that cannot go back to say how much they wrote put one of the largest numbers, or 0; a few put two billion. */
const LARGEST = 0x7fff_ff00;
const BILLION = 1_000_000_000;

/**
 * Whether a size in a RIFF header says only that it was not known. `held`: how many bytes there are. A file of which the end is
 * missing says a size that it could have had.
 */
export function isUnknownRiffSize(size: number, held: number): boolean {
  if (size === 0) return held > 0;
  return size > held && (size >= LARGEST || (size >= BILLION && held < size / 10));
}

/** Reads the begin of a file of so many bytes; null where it is no WAV, or does not say where its sound begins. */
export function readWavHeader(begin: Buffer, fileBytes: number): WavHeader | null {
  if (begin.toString("latin1", 0, 4) !== "RIFF" || begin.toString("latin1", 8, 12) !== "WAVE") return null;
  let byteRate = 0;
  for (let at = 12; at + 8 <= begin.length; ) {
    const type = begin.toString("latin1", at, at + 4);
    const size = begin.readUInt32LE(at + 4);
    if (type === "fmt " && at + 24 <= begin.length) byteRate = begin.readUInt32LE(at + 16);
    if (type === "data") {
      const held = Math.max(0, fileBytes - at - 8);
      const isOpen = isUnknownRiffSize(size, held);
      return { dataAt: at + 8, dataBytes: isOpen ? held : Math.min(size, held), isOpen, byteRate };
    }
    at += 8 + size + (size % 2);
  }
  return null;
}

/** The begin of a WAV up to its sound, with the sizes that it has. Beyond 4 GB its format has none. */
export function closedWavBegin(begin: Buffer, { dataAt, dataBytes }: WavHeader): Buffer {
  const closed = Buffer.from(begin.subarray(0, dataAt));
  closed.writeUInt32LE(Math.min(0xffff_ffff, dataAt - 8 + dataBytes), 4);
  closed.writeUInt32LE(Math.min(0xffff_ffff, dataBytes), dataAt - 4);
  return closed;
}
