import { realpath } from "node:fs/promises";
import { replaceDurably } from "../durable-file.ts";
import { marksIn, scanFile } from "./file-marks.ts";
import { openSource } from "./source.ts";
import { writeSpliced } from "./splice.ts";
import { UnmarkableError } from "./unmarkable.ts";
import { type DigitalSourceType, withSourceType } from "./xmp.ts";

export interface Mark {
  readonly digitalSourceType: DigitalSourceType;
}

/** What became of a file: it got the mark; it had one, which stays; or it is as it was, and why, as a sentence. */
export type Marking =
  | { readonly status: "marked" }
  | { readonly status: "kept"; readonly digitalSourceType: string }
  | { readonly status: "left"; readonly reason: string };

/**
 * Gives a file IPTC's digital source type as XMP: PNG, JPEG, WebP, MP4, MOV, WAV, MP3. The file is replaced whole or not at
 * all; pixels and sound stay as they are. One that says a source type already, or is signed by C2PA, stays as it is byte for
 * byte. Throws Node's own errors where it cannot be read or written.
 */
export async function markFile(path: string, { digitalSourceType }: Mark): Promise<Marking> {
  try {
    await using source = await openSource(path);
    const { scan } = await scanFile(source);
    const said = marksIn(scan);
    if (said.contentCredentials !== null)
      throw new UnmarkableError("it is signed (C2PA), and a mark would break its signature");
    if (said.digitalSourceType !== null) return { status: "kept", digitalSourceType: said.digitalSourceType };
    const splices = scan.withXmp(withSourceType(scan.xmp, digitalSourceType));
    await replaceDurably(await realpath(path), (target) => writeSpliced(source, splices, target));
    return { status: "marked" };
  } catch (error) {
    if (!(error instanceof UnmarkableError)) throw error;
    return { status: "left", reason: `No mark was put into ${path}: ${error.message}.` };
  }
}
