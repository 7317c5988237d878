import type { FileKind } from "../../plan/plan.ts";
import { type Answered, type Fault, type MediaFacts, mediaReader } from "./media-reader.ts";

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
