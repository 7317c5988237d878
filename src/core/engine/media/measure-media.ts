import type { FileKind } from "../../plan/plan.ts";
import { type Answered, type Fault, type MediaFacts, mediaReader, type StatedFacts } from "./media-reader.ts";

export type { MediaFacts };

/**
 * Reads the facts of a media file of the given kind from its header or container, without decoding it; or says why it is
 * not such a file, or that it could not be read in time. It is read in a thread of its own.
 */
export async function measureMedia(path: string, kind: FileKind): Promise<MediaFacts | Fault> {
  const answered = await mediaReader.ask({ name: "facts", path, kind });
  return "is" in answered ? answered.is : answered;
}

/** The content type that the first bytes of a file are of; null when they are of no known format. */
export function contentTypeOf(path: string): Promise<Answered<"type">> {
  return mediaReader.ask({ name: "type", path });
}

/**
 * How the bytes of a downloaded output show that they are not all of it, or something else; null for a whole one, and for
 * one that could not be read, which shows nothing. They are compared with what the service states, as far as it does.
 */
export async function damageOf(path: string, stated: StatedFacts): Promise<string | null> {
  const answered = await mediaReader.ask({ name: "damage", path, stated });
  return "is" in answered ? answered.is : null;
}
