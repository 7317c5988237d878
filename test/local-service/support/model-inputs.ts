import { BUILT_IN_MODELS } from "../../../src/local-service/catalog/builtin/index.ts";
import type { Body } from "./service.ts";

export const VOICE = "voice_1f0c5f6e-0a51-4c3f-8f0e-5a1d0c9b7a01";

/** Additional fields besides the required fields. */
const MORE: Readonly<Record<string, Body>> = {
  "grok-imagine": { aspect_ratio: "1:1" },
  "ltx-2-5": { duration_ms: 6000, aspect_ratio: "16:9", resolution: "720p" },
  "minimax-h3": { aspect_ratio: "16:9" },
  "wan-3-0": { aspect_ratio: "16:9" },
};

/** A valid input for each example model, with the given media. */
export const exampleInputs = (image: Body, audio: Body): Readonly<Record<string, Body>> => ({
  "image-1": { prompt: "a cat", num_outputs: 2 },
  "video-1": { prompt: "a cat", aspect_ratio: "9:16", duration_ms: 3000 },
  "avatar-1": { start_image: image, audio, prompt: "talks", aspect_ratio: "9:16", resolution: "720p" },
  "speech-1": { text: "Hello.", voice_id: VOICE },
  "voice-clone-1": { audio, name: "narrator" },
  "upscale-1": { image },
});

/** A minimal valid input for each model of hosted services, with the given media. */
export function publishedInputs(media: { readonly [kind: string]: Body }): Readonly<Record<string, Body>> {
  const models = BUILT_IN_MODELS.filter(({ entry, state }) => state.is === "live" && !/-1$/.test(entry.id));
  return Object.fromEntries(
    models.map(({ entry: { id, input_schema } }) => {
      const { required, properties } = input_schema as { required: string[]; properties: Body };
      const given = required.map((name) => [name, sampleOf(name, properties[name], media)]);
      return [id, { ...Object.fromEntries(given), ...MORE[id] }];
    }),
  );
}

function sampleOf(name: string, { type, items, enum: values, media_type, minimum }: Body, media: Body): unknown {
  if (type === "array") return [sampleOf(name, items, media)];
  if (media_type !== undefined) return media[media_type];
  if (values !== undefined) return values[0];
  if (type === "integer") return minimum;
  return name === "voice_id" ? VOICE : "a boat at sea";
}
