import { type CleanText, cleanText } from "../kit/clean-text.ts";
import type { Scan } from "./formats/format.ts";
import { formats } from "./formats/index.ts";
import { openSource, type Source } from "./source.ts";
import { UnmarkableError } from "./unmarkable.ts";
import { linksManifest, sourceTypeIn } from "./xmp.ts";

/** What a file says of itself. */
export interface FileMarks {
  /** Media type by its bytes; null where it is of no format that we read. */
  readonly contentType: string | null;
  /** IPTC's digital source type as it stands in the file's XMP, a URI mostly. Null: none, or not read. */
  readonly digitalSourceType: CleanText | null;
  /** A C2PA manifest: in the file, or elsewhere and named by it. Whether its signature holds: `readCredentials`. */
  readonly contentCredentials: "embedded" | "linked" | null;
  /** Why marks were not read, as a sentence; null where they were. */
  readonly problem: string | null;
}

/** Reads a file's marks; damage is a `problem`. Throws Node's own errors where there is no such file. */
export async function readMarks(path: string): Promise<FileMarks> {
  try {
    await using source = await openSource(path);
    const { contentType, scan } = await scanFile(source);
    return { contentType, problem: null, ...marksIn(scan) };
  } catch (error) {
    if (!(error instanceof UnmarkableError)) throw error;
    const problem = `Its marks cannot be read: ${error.message}.`;
    return { contentType: null, digitalSourceType: null, contentCredentials: null, problem };
  }
}

/** @throws UnmarkableError */
export async function scanFile(source: Source): Promise<{ readonly contentType: string; readonly scan: Scan }> {
  const head = await source.read(0, Math.min(source.sizeBytes, 16));
  const format = formats.find(({ isIt }) => isIt(head));
  if (format === undefined) throw new UnmarkableError("it is not PNG, JPEG, WebP, MP4, MOV, WAV or MP3");
  return { contentType: format.contentType, scan: await format.scan(source) };
}

export function marksIn({ xmp, isSigned }: Scan): Pick<FileMarks, "digitalSourceType" | "contentCredentials"> {
  const sourceType = xmp === null ? null : sourceTypeIn(xmp);
  const isLinked = xmp !== null && linksManifest(xmp);
  return {
    digitalSourceType: sourceType === null ? null : cleanText(sourceType),
    contentCredentials: isSigned ? "embedded" : isLinked ? "linked" : null,
  };
}
