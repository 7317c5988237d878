import type { FileKind } from "../../plan/plan.ts";
import { type Fault, type MediaFacts, mediaReader, type StatedFacts } from "./media-reader.ts";

export type { MediaFacts };

/**
 * Reads a media file's facts on a worker thread. Returns a fault if the file is not of the given kind or could not be
 * read in time. If `kind` is null, any kind is accepted.
 */
export async function measureMedia(path: string, kind: FileKind | null): Promise<MediaFacts | Fault> {
  const answered = await mediaReader.ask({ name: "facts", path, kind });
  return "is" in answered ? answered.is : answered;
}

/**
 * Returns why a downloaded output is incomplete or not what the service states; null if it is right or could not be
 * read.
 */
export async function damageOf(path: string, stated: StatedFacts): Promise<string | null> {
  const answered = await mediaReader.ask({ name: "damage", path, stated });
  return "is" in answered ? answered.is : null;
}
