import type { FileKind } from "../../plan/plan.ts";
import { type Fault, type MediaFacts, mediaReader, type StatedFacts } from "./media-reader.ts";

export type { MediaFacts };

/**
 * Reads a media file's facts from its header or container, without decoding, in a separate thread. Returns a fault if
 * the file is not of this kind or could not be read in time. `kind` null: any kind, and an unreadable file gets the
 * type of its first bytes.
 */
export async function measureMedia(path: string, kind: FileKind | null): Promise<MediaFacts | Fault> {
  const answered = await mediaReader.ask({ name: "facts", path, kind });
  return "is" in answered ? answered.is : answered;
}

/**
 * Why a downloaded output is incomplete or not what the service states; null if it is complete, or if it could not be
 * read, which proves nothing.
 */
export async function damageOf(path: string, stated: StatedFacts): Promise<string | null> {
  const answered = await mediaReader.ask({ name: "damage", path, stated });
  return "is" in answered ? answered.is : null;
}
