import { stat } from "node:fs/promises";
import { mediaReader, type StatedFacts } from "./media-reader.ts";

/**
 * How the bytes of a downloaded output show that they are not all of it, or something else; null for a whole one, and for
 * one that could not be read, which shows nothing. They are compared with what the service states, as far as it does.
 */
export async function damageOf(path: string, stated: StatedFacts): Promise<string | null> {
  const answered = await mediaReader.ask({ name: "damage", path, stated }, (await stat(path)).size);
  return "is" in answered ? answered.is : null;
}
