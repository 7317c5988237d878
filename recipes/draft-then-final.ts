import { pipeline } from "showrunner";
import { z } from "zod";
import { models } from "./models.ts";

/**
 * The same pipeline cheap and quick first, then as it shall be: `--profile draft` lowers level, resolution and length of
 * every job, and nothing in the steps has to know.
 */
export default pipeline("draft-then-final", {
  input: z.object({
    scene: z.string().min(1).default("A night train crossing a stone viaduct, windows lit, snow falling"),
  }),
  profiles: {
    draft: {
      fields: {
        "image-1": { quality: "standard" },
        "video-1": { quality: "standard", resolution: "720p", duration_ms: 3000, generate_audio: false },
      },
    },
  },
  build({ input, job }) {
    const picture = job("picture", models.image, { prompt: input.scene, aspect_ratio: "16:9", quality: "pro" });
    const video = job("video", models.video, {
      start_image: picture,
      prompt: "The train crosses from left to right, snow streams past, the lights flicker",
      aspect_ratio: "16:9",
      resolution: "1080p",
      quality: "pro",
      duration_ms: 5000,
    });
    return { picture, video };
  },
});
