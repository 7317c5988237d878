import type { FileKind } from "../../plan/plan.ts";
import { type Fault, type MediaFacts, mediaReader, type StatedFacts } from "./media-reader.ts";

export type { MediaFacts };

/**
 * Reads a media file's facts from its header or container on a worker thread, without decoding. Returns a fault if the
 * file is not of the given kind or could not be read in time. If `kind` is null, any kind is accepted, and for an
 * unreadable file only the type of its first bytes is returned.
 */
export async function measureMedia(path: string, kind: FileKind | null): Promise<MediaFacts | Fault> {
  const answered = await mediaReader.ask({ name: "facts", path, kind });
  return "is" in answered ? answered.is : answered;
}

/**
 * Returns why a downloaded output is incomplete or not what the service states. Null if the file is right, or if it
 * could not be read, which proves nothing.
 */
export async function damageOf(path: string, stated: StatedFacts): Promise<string | null> {
  const answered = await mediaReader.ask({ name: "damage", path, stated });
  return "is" in answered ? answered.is : null;
}
