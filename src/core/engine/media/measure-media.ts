import type { FileKind } from "../../plan/plan.ts";
import { type Fault, type MediaFacts, mediaReader, type StatedFacts } from "./media-reader.ts";

export type { MediaFacts };

/** Returns a fault if the file is not of `kind` or could not be read. Null allows any kind. */
export async function measureMedia(path: string, kind: FileKind | null): Promise<MediaFacts | Fault> {
  const answered = await mediaReader.ask({ name: "facts", path, kind });
  return "is" in answered ? answered.is : answered;
}

/** Returns what is wrong with a downloaded output; null if nothing is, or if it could not be read. */
export async function damageOf(path: string, stated: StatedFacts): Promise<string | null> {
  const answered = await mediaReader.ask({ name: "damage", path, stated });
  return "is" in answered ? answered.is : null;
}
