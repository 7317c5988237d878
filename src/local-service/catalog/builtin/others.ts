import type { Work } from "../model.ts";
import {
  exactlyOne,
  inputObject,
  MAX_FILM_BYTES,
  MAX_IMAGE_BYTES,
  mediaReference,
  visibleText,
} from "../schema-parts.ts";
import { builtIn, integer, mediaMs, secondsBegun } from "./define.ts";

const PER_MEGAPIXEL_MICROS = 10_000;
const PER_SECOND_MICROS = 40_000;

const isFilm = (work: Work) => (work.media["source_video"]?.length ?? 0) > 0;

function upscalePrice(work: Work): number {
  if (isFilm(work)) return secondsBegun(mediaMs(work, "source_video")) * PER_SECOND_MICROS;
  const [picture] = work.media["image"] ?? [];
  const megapixels = Math.ceil(((picture?.width ?? 0) * (picture?.height ?? 0)) / 1_000_000);
  return Math.max(1, megapixels) * integer(work, "scale", 2) * PER_MEGAPIXEL_MICROS;
}

/** Priced only after its input is measured, which happens at submit. */
export const upscale = builtIn({
  id: "upscale-1",
  modality: "video",
  name: "Upscale 1",
  description: "Enlarges a film or a picture. Cannot be quoted in advance.",
  prices: "measured at submit: $0.04 per second of film, or $0.01 per megapixel and scale step",
  schema: inputObject(
    [],
    {
      source_video: mediaReference({
        media_type: "video",
        role: "input_video",
        max_file_size_bytes: MAX_FILM_BYTES,
        max_duration_ms: 60_000,
        description: "The film to enlarge.",
      }),
      image: mediaReference({
        media_type: "image",
        role: "reference",
        max_file_size_bytes: MAX_IMAGE_BYTES,
        description: "The picture to enlarge.",
      }),
      scale: { type: "integer", enum: [2, 4], default: 2 },
    },
    exactlyOne("source_video", "image"),
  ),
  kind: (work) => (isFilm(work) ? "video" : "image"),
  unquotable: "The price depends on the measured size or length of the input, which is taken at submit.",
  priceMicros: upscalePrice,
  renderMs: () => 4_000,
  adapt: (work) => ({
    input: { prompt: "enlarged", duration_ms: Math.max(1000, mediaMs(work, "source_video")), ...work.input },
    rename: { image: "images" },
  }),
});

/** Answers 410 GONE everywhere. */
export const imageRetired = builtIn({
  id: "image-0",
  modality: "image",
  name: "Image 0",
  description: "Retired.",
  prices: "no longer sold",
  schema: inputObject(["prompt"], { prompt: visibleText(4000, "What the picture shows.") }),
  kind: "image",
  state: { is: "retired", replacedBy: "image-1" },
});
