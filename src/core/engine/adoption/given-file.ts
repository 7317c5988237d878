import { stat } from "node:fs/promises";
import type { GivenFile } from "../../journal/events.ts";
import { cleanText, ownText } from "../../kit/clean-text.ts";
import type { GenerateStep } from "../../plan/plan.ts";
import { InvalidOptionError } from "../errors.ts";
import { measureMedia } from "../media/measure-media.ts";
import type { MediaStore } from "../media/media-store.ts";

/** The file that a person says a provider made, measured and in the store. @throws InvalidOptionError */
export async function givenFile(path: string, { yields }: GenerateStep, media: MediaStore): Promise<GivenFile> {
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isFile) {
    throw new InvalidOptionError("file", `${path} is no file; give the one that the provider made, or none.`);
  }
  const facts = await measureMedia(path, yields);
  if ("fault" in facts)
    throw new InvalidOptionError("file", `${path} should be ${yields}, and ${cleanText(facts.fault)}.`);
  const { sha256, sizeBytes } = await media.put({ path });
  const contentType = ownText(facts.contentType);
  const output = { index: 0, status: "COMPLETED", assetId: null, voiceId: null, error: null } as const;
  return { facts: { ...output, ...facts, contentType }, copy: { sha256, sizeBytes, contentType } };
}
