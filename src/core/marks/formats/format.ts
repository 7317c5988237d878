import type { Source, Splice } from "../source.ts";

/** The marks in a file, and how to change them. */
export interface Scan {
  /** The file's XMP packet; null if it has none. */
  readonly xmp: string | null;
  /** True if the file contains a C2PA manifest, which is bound to its bytes. */
  readonly isSigned: boolean;
  /** Returns the changes that replace the file's XMP packet by `packet`. @throws UnmarkableError */
  readonly withXmp: (packet: string) => readonly Splice[];
}

export interface Format {
  /** Media type, such as `image/png`. */
  readonly contentType: string;
  /** Recognises the format by the file's first 16 bytes (or fewer). */
  readonly isIt: (head: Buffer) => boolean;
  /** @throws UnmarkableError */
  readonly scan: (source: Source) => Promise<Scan>;
}
