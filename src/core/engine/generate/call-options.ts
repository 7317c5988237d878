import type { GenerateStep, Json } from "../../plan/plan.ts";
import { plainName } from "../../run/foreign-names.ts";
import type { MediaStore } from "../media/media-store.ts";

/** Every field of the specification, undefined unless given. */
const UNSAID = {
  image: {
    n: 1,
    prompt: undefined,
    size: undefined,
    aspectRatio: undefined,
    seed: undefined,
    files: undefined,
    mask: undefined,
  },
  video: {
    n: 1,
    prompt: undefined,
    aspectRatio: undefined,
    resolution: undefined,
    duration: undefined,
    fps: undefined,
    seed: undefined,
    image: undefined,
    frameImages: undefined,
    inputReferences: undefined,
    generateAudio: undefined,
  },
  audio: {},
} as const;

/** Converts a resolved input to AI SDK call options (specification v4), with media as bytes. */
export async function callOptions(
  { yields }: GenerateStep,
  input: Json,
  media: MediaStore,
): Promise<{ readonly [option: string]: unknown }> {
  const given = (await converted(input, media)) as { readonly [option: string]: unknown };
  return { ...UNSAID[yields], providerOptions: {}, ...given };
}

async function converted(value: Json, media: MediaStore): Promise<unknown> {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return Promise.all(value.map((item: Json) => converted(item, media)));
  if ("$file" in value) {
    const { sha256, contentType } = value.$file as { readonly sha256: string; readonly contentType: string };
    return { type: "file", mediaType: contentType, data: await bytesOf(sha256, media) };
  }
  const entries = Object.entries(value).map(
    async ([key, item]) => [plainName(key), await converted(item, media)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

async function bytesOf(sha256: string, media: MediaStore): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of await media.read(sha256)) chunks.push(chunk);
  return new Uint8Array(Buffer.concat(chunks));
}
