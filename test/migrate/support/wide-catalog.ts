import { type Catalog, type CatalogModel, catalogOf, type JsonSchema } from "../../../src/core/catalog/index.ts";
import { ownCatalog } from "../../support/built-in-catalog.ts";
import { MEDIA_REFERENCE } from "../../support/large-catalog/fields.ts";

const reference = (kind: string, role: string): JsonSchema => ({ ...MEDIA_REFERENCE, media_type: kind, role });

const list = (kind: string, maxItems: number): JsonSchema => ({
  type: "array",
  minItems: 1,
  maxItems,
  items: reference(kind, "reference"),
});

function model(
  id: string,
  modality: string,
  description: string,
  required: readonly string[],
  properties: { readonly [name: string]: JsonSchema },
): CatalogModel {
  const inputSchema = { type: "object", additionalProperties: false, required, properties };
  const base = { id, modality, name: id, description, priceDescription: null, outputSchema: {} };
  return { ...base, inputSchema, state: "live" };
}

const text = { type: "string", minLength: 1, maxLength: 1000 };

/** The built-in models and a model for every type of v2 body, each with different names, bounds and lists. */
export function wideCatalog(): Catalog {
  return catalogOf([
    ...ownCatalog().models(),
    model("sound-effects-2", "audio", "Makes sound effects.", ["prompt"], {
      prompt: text,
      duration_ms: { type: "integer", minimum: 1000, maximum: 20_000, multipleOf: 500 },
      loop: { type: "boolean" },
    }),
    model("voice-changer-1", "audio", "Says what was said in another voice.", ["audio", "voice_id"], {
      audio: reference("audio", "audio_input"),
      voice_id: { type: "string", enum: ["ada", "grace"] },
    }),
    model("isolate-1", "audio", "Isolates speech from noise.", ["audio"], {
      audio: reference("audio", "audio_input"),
      prompt: text,
    }),
    model("image-upscale-3", "image", "Enlarges pictures.", ["image"], {
      image: reference("image", "reference"),
      resolution: { type: "string", enum: ["2K", "4K", "8K"] },
      upscale_factor: { type: "number", minimum: 1, maximum: 4 },
    }),
    model("restyle-1", "video", "Changes a film by words.", ["source_video", "prompt"], {
      source_video: reference("video", "input_video"),
      prompt: text,
      images: list("image", 4),
      keep_audio: { type: "boolean", default: false },
    }),
    model("motion-1", "video", "Transfers motion to a picture.", ["source_video", "start_image"], {
      source_video: reference("video", "input_video"),
      start_image: reference("image", "start_frame"),
      prompt: text,
      character_orientation: { type: "string", enum: ["video", "image"] },
      bounding_box_target: { type: "array", items: { type: "array", items: { type: "number" } } },
      seed: { type: "integer", minimum: 0, maximum: 1000 },
    }),
    model("nano-banana", "image", "Draws.", ["prompt", "aspect_ratio"], {
      prompt: text,
      aspect_ratio: { type: "string", enum: ["1:1", "3:2", "2:3"] },
      quality: { type: "string", enum: ["standard", "pro"], default: "standard" },
      resolution: { type: "string", enum: ["1K", "2K", "4K"] },
      output_format: { type: "string", enum: ["png", "webp"] },
      negative_prompt: { type: "string", maxLength: 500 },
      seed: { type: "integer", minimum: 0 },
      images: list("image", 2),
      guidance_scale: { type: "number", minimum: 1, maximum: 10 },
    }),
    model("talk-2", "video", "Several speakers.", ["audios", "start_image", "prompt"], {
      audios: { type: "array", minItems: 1, maxItems: 4, items: reference("audio", "audio_input") },
      start_image: reference("image", "start_frame"),
      prompt: text,
      resolution: { type: "string", enum: ["480p", "720p"] },
      seed: { type: "integer" },
    }),
  ]);
}
