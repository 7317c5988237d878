import type { Work } from "../model.ts";
import { inputObject, MAX_IMAGE_BYTES, MAX_SOUND_BYTES, mediaReference, visibleText } from "../schema-parts.ts";
import { builtIn, integer, mediaMs, secondsBegun, text } from "./define.ts";

const PER_SECOND_MICROS: Readonly<Record<string, number>> = { "720p": 80_000, "1080p": 120_000 };

/** The audio's duration unless `duration_ms` is given. */
const filmMs = (work: Work) => integer(work, "duration_ms", mediaMs(work, "audio"));

/** Animates a face that speaks the given audio. */
export const avatar = builtIn({
  id: "avatar-1",
  modality: "video",
  name: "Avatar 1",
  description: "Makes the face of a picture speak the given sound.",
  prices: "720p: $0.08 per second; 1080p: $0.12 per second",
  schema: inputObject(["start_image", "audio", "prompt", "aspect_ratio", "resolution"], {
    start_image: mediaReference({
      media_type: "image",
      role: "start_frame",
      max_file_size_bytes: MAX_IMAGE_BYTES,
      description: "The face.",
    }),
    audio: mediaReference({
      media_type: "audio",
      role: "audio_input",
      max_file_size_bytes: MAX_SOUND_BYTES,
      max_duration_ms: 120_000,
      description: "What the face says.",
    }),
    prompt: visibleText(2500, "How the face behaves."),
    aspect_ratio: { type: "string", enum: ["16:9", "9:16", "1:1"] },
    resolution: { type: "string", enum: ["720p", "1080p"] },
    duration_ms: {
      type: "integer",
      minimum: 1000,
      maximum: 120_000,
      description: "Length of the film; as long as the sound when absent.",
    },
  }),
  kind: "avatar",
  priceMicros: (work) => secondsBegun(filmMs(work)) * (PER_SECOND_MICROS[text(work, "resolution")] ?? 80_000),
  renderMs: (work) => 5_000 + 0.8 * filmMs(work),
});
