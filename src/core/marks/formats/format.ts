import type { Source, Splice } from "../source.ts";

/** The marks in a file, and how to change them. */
export interface Scan {
  /** The file's XMP packet; null if it has none. */
  readonly xmp: string | null;
  /** True if the file contains a C2PA manifest. A manifest is only valid for the file's exact bytes. */
  readonly isSigned: boolean;
  /** Returns the changes that put this XMP packet into the file. @throws UnmarkableError */
  readonly withXmp: (packet: string) => readonly Splice[];
}

export interface Format {
  readonly contentType: string;
  /** True if a file with these first 16 bytes (or fewer) has this format. */
  readonly isIt: (head: Buffer) => boolean;
  /** Finds the marks in a file. @throws UnmarkableError */
  readonly scan: (source: Source) => Promise<Scan>;
}
