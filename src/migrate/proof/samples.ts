import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { GREY_MP4, greyPng, plainWav } from "../../core/kit/placeholder-media.ts";
import type { MediaKind } from "../../core/plan/plan.ts";
import type { PipelineInput } from "../expression.ts";

const SIDE_PX = 512;
const SOUND_MS = 3000;
/** A quiet tone: some services refuse silence. */
const QUIET = 6000;

/** Placeholder inputs of a migrated pipeline, for pricing and verification. */
export interface SampleOptions {
  /** Folder that the media are written to. */
  readonly folder: string;
  /** A v3 voice, for inputs that take one. */
  readonly voice: string;
}

/** A value for every input: small valid media, sample text, a voice. */
export async function sampleInput(
  inputs: readonly PipelineInput[],
  { folder, voice }: SampleOptions,
): Promise<{ readonly [name: string]: string }> {
  const media: Readonly<Record<MediaKind, readonly [name: string, bytes: Uint8Array]>> = {
    image: ["sample.png", greyPng(SIDE_PX)],
    audio: ["sample.wav", plainWav(SOUND_MS, QUIET)],
    video: ["sample.mp4", Buffer.from(GREY_MP4, "base64")],
  };
  const kinds = new Set(inputs.flatMap((input) => (input.is === "file" ? [input.kind] : [])));
  const pathOf = (kind: MediaKind) => join(folder, media[kind][0]);
  await Promise.all([...kinds].map((kind) => writeFile(pathOf(kind), media[kind][1])));
  const valueFor = (input: PipelineInput): string => {
    switch (input.is) {
      case "file":
        return pathOf(input.kind);
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
  return Object.fromEntries(inputs.map((input) => [input.name, valueFor(input)]));
}
