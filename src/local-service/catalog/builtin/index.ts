import type { ModelDefinition } from "../model.ts";
import { avatar } from "./avatar.ts";
import { image } from "./image.ts";
import { imageRetired, upscale } from "./others.ts";
import { speech, voiceClone } from "./speech.ts";
import { video, videoToCome } from "./video.ts";

export { STOCK_VOICES } from "./speech.ts";

/** The built-in catalog. */
export const BUILT_IN_MODELS: readonly ModelDefinition[] = [
  image,
  video,
  avatar,
  speech,
  voiceClone,
  upscale,
  imageRetired,
  videoToCome,
];
