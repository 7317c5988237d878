/** Fields of a v2 body that decide what is seen and heard: media, prompts, shots and voices. */
const WORK = new RegExp(
  `(?:^|\\.)(?:${[
    "(?:text_)?prompt",
    "text",
    "multi_prompt",
    "voice_id",
    "(?:audio|video|image)_id",
    "audio_generation",
    "(?:start|end)_keyframe_(?:id|url)",
    "reference_(?:image|audio|video)_ids",
    "reference_image_asset_ids",
    "frontal_image_asset_id",
    "elements",
  ].join("|")})(?:\\[\\d+\\])?$`,
);

/** True for a medium, prompt, shot or voice, whole or one of a list. */
export function isWorkField(field: string): boolean {
  return WORK.test(field);
}
