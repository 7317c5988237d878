import { createHash } from "node:crypto";
import { type FileHandle, realpath } from "node:fs/promises";
import { type CleanText, cleanText } from "../kit/clean-text.ts";
import { replaceDurably } from "../kit/files.ts";
import { isoMedia } from "./formats/iso-media.ts";
import { jpeg } from "./formats/jpeg.ts";
import { mp3 } from "./formats/mp3.ts";
import { png } from "./formats/png.ts";
import { wav, webp } from "./formats/riff.ts";
import {
  type DigitalSourceType,
  type Format,
  linksManifest,
  openSource,
  type Scan,
  type Source,
  type Splice,
  sourceTypeIn,
  spliced,
  UnmarkableError,
  withSourceType,
} from "./source.ts";

const formats: readonly Format[] = [png, jpeg, webp, isoMedia, wav, mp3];

export interface Mark {
  readonly digitalSourceType: DigitalSourceType;
}

/**
 * The file was not changed. `kept`: it already has a mark. `left`: it cannot have a mark, and `reason` is a sentence
 * that says why.
 */
export type Unmarked =
  | { readonly status: "kept"; readonly digitalSourceType: string }
  | { readonly status: "left"; readonly reason: string };

export type Marking = Unmarked | { readonly status: "marked" };

export type MarkPreview = Unmarked | { readonly status: "marked"; readonly sha256: string; readonly sizeBytes: number };

/** Writes IPTC's digital source type into a media file as XMP, unless it already states one or is signed. */
export async function markFile(path: string, mark: Mark): Promise<Marking> {
  return withMark(path, mark, async (source, splices) => {
    await replaceDurably(await realpath(path), (target) => target.writeFile(spliced(source, splices)));
    return { status: "marked" };
  });
}

export async function writeMarked(path: string, target: FileHandle, mark: Mark): Promise<Marking> {
  return withMark(path, mark, async (source, splices) => {
    await target.writeFile(spliced(source, splices));
    return { status: "marked" };
  });
}

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

export interface FileMarks {
  readonly contentType: string | null;
  /** IPTC's digital source type in the file's XMP, usually a URI. Null if the file has none or could not be read. */
  readonly digitalSourceType: CleanText | null;
  /**
   * Whether the C2PA manifest is in the file or at a link; null if there is none. `readCredentials` verifies its
   * signature.
   */
  readonly contentCredentials: "embedded" | "linked" | null;
  readonly problem: string | null;
}

/** Reads a file's marks. If they cannot be read, `problem` says why. */
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

async function scanFile(source: Source): Promise<{ readonly contentType: string; readonly scan: Scan }> {
  const head = await source.read(0, Math.min(source.sizeBytes, 16));
  const format = formats.find(({ isIt }) => isIt(head));
  if (format === undefined) throw new UnmarkableError("it is not a PNG, JPEG, WebP, MP4, MOV, WAV or MP3 file");
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
