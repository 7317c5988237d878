import type { Source, Splice } from "../source.ts";

export interface Scan {
  readonly xmp: string | null;
  /** True if the file contains a C2PA manifest, which is valid only for the file's exact bytes. */
  readonly isSigned: boolean;
  /** Returns the changes that put the packet into the file. @throws UnmarkableError */
  readonly withXmp: (packet: string) => readonly Splice[];
}

export interface Format {
  readonly contentType: string;
  /** Returns true for a file of this format. `head` contains its first 16 bytes, or fewer if the file is shorter. */
  readonly isIt: (head: Buffer) => boolean;
  /** Reads the file's marks. @throws UnmarkableError */
  readonly scan: (source: Source) => Promise<Scan>;
}
