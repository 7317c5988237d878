import type { Work } from "../model.ts";
import { inputObject, MAX_IMAGE_BYTES, mediaReference, steps, visibleText } from "../schema-parts.ts";
import { builtIn, integer, text } from "./define.ts";

const PER_OUTPUT_MICROS = { standard: 20_000, pro: 60_000 } as const;
const PER_REFERENCE_MICROS = 5_000;

const isPro = (work: Work) => text(work, "quality") === "pro";
const outputs = (work: Work) => integer(work, "num_outputs", 1);

/** Draws 1 to 4 pictures from a prompt, and from reference images where given. */
export const image = builtIn({
  id: "image-1",
  modality: "image",
  name: "Image 1",
  description: "Draws 1 to 4 pictures from a prompt and up to 4 reference images.",
  prices: "standard: $0.02 per picture; pro: $0.06 per picture; each reference image: $0.005",
  schema: inputObject(["prompt"], {
    prompt: visibleText(4000, "What the picture shows."),
    aspect_ratio: { type: "string", enum: ["1:1", "16:9", "9:16", "4:3", "3:4"], default: "1:1" },
    quality: { type: "string", enum: ["standard", "pro"], default: "standard" },
    num_outputs: { type: "integer", enum: steps(1, 4, 1), default: 1 },
    seed: { type: "integer", minimum: 0, maximum: 4_294_967_295 },
    images: {
      type: "array",
      minItems: 1,
      maxItems: 4,
      items: mediaReference({
        media_type: "image",
        role: "reference",
        max_file_size_bytes: MAX_IMAGE_BYTES,
        description: "A picture to take colours and forms from.",
      }),
    },
  }),
  kind: "image",
  priceMicros: (work) =>
    outputs(work) * PER_OUTPUT_MICROS[isPro(work) ? "pro" : "standard"] +
    (work.media["images"]?.length ?? 0) * PER_REFERENCE_MICROS,
  renderMs: (work) => 1_500 + outputs(work) * (isPro(work) ? 1_000 : 500),
});
