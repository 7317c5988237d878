import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { placeholderMedium } from "../../core/kit/placeholder-media.ts";
import type { PipelineInput } from "../expression.ts";

/** Settings for placeholder inputs. */
export interface SampleOptions {
  /** Folder to which the media files are written. */
  readonly folder: string;
  /** A v3 voice for inputs of the kind `voice`. */
  readonly voice: string;
}

const WANTED = { durationMs: 3000, ratio: 1 };
const ENDING = { image: "png", audio: "wav", video: "mp4" } as const;

/** Creates a placeholder for every input: media within the limits of their models, sample text, or the given voice. */
export async function sampleInput(
  inputs: readonly PipelineInput[],
  { folder, voice }: SampleOptions,
): Promise<{ readonly [name: string]: string }> {
  const valueFor = async (input: PipelineInput): Promise<string> => {
    switch (input.is) {
      case "file": {
        const path = join(folder, `${input.step}.${ENDING[input.kind]}`);
        await writeFile(path, placeholderMedium(input.kind, WANTED, input.limits ?? {}));
        return path;
      }
      case "voice":
        return voice;
      case "text":
        return "A lighthouse at dusk.".slice(0, input.maxLength ?? undefined);
      case "choice":
        return input.choices[0] ?? "";
      default:
        return input satisfies never;
    }
  };
  const entries = inputs.map(async (input) => [input.name, await valueFor(input)] as const);
  return Object.fromEntries(await Promise.all(entries));
}
