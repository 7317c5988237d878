import type { Source, Splice } from "../source.ts";

export interface Scan {
  readonly xmp: string | null;
  /** True if the file contains a C2PA manifest, which is valid only for the file's exact bytes. */
  readonly isSigned: boolean;
  readonly withXmp: (packet: string) => readonly Splice[];
}

export interface Format {
  readonly contentType: string;
  /** `head` contains the first 16 bytes, or fewer if the file is shorter. */
  readonly isIt: (head: Buffer) => boolean;
  readonly scan: (source: Source) => Promise<Scan>;
}
