import type { Source, Splice } from "../source.ts";

/** What a file of a known format says of itself, and how it would be made to say more. */
export interface Scan {
  /** Its XMP packet; null without one. */
  readonly xmp: string | null;
  /** Whether it holds a C2PA manifest, which binds its bytes. */
  readonly isSigned: boolean;
  /** The changes that give the file this packet in place of its own. @throws UnmarkableError */
  readonly withXmp: (packet: string) => readonly Splice[];
}

export interface Format {
  /** Media type, such as `image/png`. */
  readonly contentType: string;
  /** By the file's first 16 bytes, or fewer if it has no more. */
  readonly isIt: (head: Buffer) => boolean;
  /** @throws UnmarkableError */
  readonly scan: (source: Source) => Promise<Scan>;
}
