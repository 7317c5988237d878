import { createHash } from "node:crypto";
import { type FileHandle, realpath } from "node:fs/promises";
import { type CleanText, cleanText } from "../kit/clean-text.ts";
import { replaceDurably } from "../kit/durable-file.ts";
import type { Format, Scan } from "./formats/format.ts";
import { isoMedia } from "./formats/iso-media.ts";
import { jpeg } from "./formats/jpeg.ts";
import { mp3 } from "./formats/mp3.ts";
import { png } from "./formats/png.ts";
import { wav, webp } from "./formats/riff.ts";
import { openSource, type Source, type Splice, spliced, UnmarkableError } from "./source.ts";
import { type DigitalSourceType, linksManifest, sourceTypeIn, withSourceType } from "./xmp.ts";

/** Formats whose marks can be read and written. */
const formats: readonly Format[] = [png, jpeg, webp, isoMedia, wav, mp3];

export interface Mark {
  readonly digitalSourceType: DigitalSourceType;
}

/**
 * The file is unchanged: it already has a mark (`kept`), or cannot have one (`left`; `reason` is a sentence).
 */
export type Unmarked =
  | { readonly status: "kept"; readonly digitalSourceType: string }
  | { readonly status: "left"; readonly reason: string };

export type Marking = Unmarked | { readonly status: "marked" };

export type MarkPreview = Unmarked | { readonly status: "marked"; readonly sha256: string; readonly sizeBytes: number };

/**
 * Adds IPTC's digital source type to a file as XMP: PNG, JPEG, WebP, MP4, MOV, WAV, MP3. Replaces the file atomically;
 * pixels and audio stay the same. A file that already states a source type, or has a C2PA signature, stays unchanged.
 * Throws Node's errors if the file cannot be read or written.
 */
export async function markFile(path: string, mark: Mark): Promise<Marking> {
  return withMark(path, mark, async (source, splices) => {
    await replaceDurably(await realpath(path), (target) => target.writeFile(spliced(source, splices)));
    return { status: "marked" };
  });
}

/** Writes the result of {@link markFile} to an empty file; writes nothing if the mark would change nothing. */
export async function writeMarked(path: string, target: FileHandle, mark: Mark): Promise<Marking> {
  return withMark(path, mark, async (source, splices) => {
    await target.writeFile(spliced(source, splices));
    return { status: "marked" };
  });
}

/** Computes the result of {@link markFile} without changing the file. Deterministic for the same bytes and mark. */
export async function previewMark(path: string, mark: Mark): Promise<MarkPreview> {
  return withMark(path, mark, async (source, splices) => {
    const digest = createHash("sha256");
    let sizeBytes = 0;
    for await (const piece of spliced(source, splices)) {
      digest.update(piece);
      sizeBytes += piece.length;
    }
    return { status: "marked", sha256: digest.digest("hex"), sizeBytes };
  });
}

async function withMark<T>(
  path: string,
  { digitalSourceType }: Mark,
  use: (source: Source, splices: readonly Splice[]) => Promise<T>,
): Promise<T | Unmarked> {
  try {
    await using source = await openSource(path);
    const { scan } = await scanFile(source);
    const marks = marksIn(scan);
    if (marks.contentCredentials !== null)
      throw new UnmarkableError("it is signed (C2PA), and a mark would break its signature");
    if (marks.digitalSourceType !== null) return { status: "kept", digitalSourceType: marks.digitalSourceType };
    return await use(source, scan.withXmp(withSourceType(scan.xmp, digitalSourceType)));
  } catch (error) {
    if (!(error instanceof UnmarkableError)) throw error;
    return { status: "left", reason: `It was not marked: ${error.message}.` };
  }
}

/** The marks in a file that describe its origin. */
export interface FileMarks {
  /** Content type by the file's bytes; null for an unknown format. */
  readonly contentType: string | null;
  /** IPTC's digital source type in the file's XMP, usually a URI. Null: none, or not read. */
  readonly digitalSourceType: CleanText | null;
  /** Where a C2PA manifest is: in the file, or elsewhere and linked. `readCredentials` verifies its signature. */
  readonly contentCredentials: "embedded" | "linked" | null;
  /** Why the marks could not be read, as a sentence; null if they could. */
  readonly problem: string | null;
}

/** Reads a file's marks. Damage is reported as `problem`. Throws Node's errors if there is no such file. */
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
async function scanFile(source: Source): Promise<{ readonly contentType: string; readonly scan: Scan }> {
  const head = await source.read(0, Math.min(source.sizeBytes, 16));
  const format = formats.find(({ isIt }) => isIt(head));
  if (format === undefined) throw new UnmarkableError("it is not PNG, JPEG, WebP, MP4, MOV, WAV or MP3");
  return { contentType: format.contentType, scan: await format.scan(source) };
}

function marksIn({ xmp, isSigned }: Scan): Pick<FileMarks, "digitalSourceType" | "contentCredentials"> {
  const sourceType = xmp === null ? null : sourceTypeIn(xmp);
  const isLinked = xmp !== null && linksManifest(xmp);
  return {
    digitalSourceType: sourceType === null ? null : cleanText(sourceType),
    contentCredentials: isSigned ? "embedded" : isLinked ? "linked" : null,
  };
}
