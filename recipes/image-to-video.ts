import { pipeline } from "showrunner";
import { z } from "zod";
import { cast } from "./cast.ts";

/** Draws a scene, then animates it: the video starts with exactly this picture. */
export default pipeline("image-to-video", {
  input: z.object({
    scene: z
      .string()
      .min(1)
      .default("A paper boat carrying a small lit lantern on a dark lake at dusk, mist between the pines behind it"),
    motion: z
      .string()
      .min(1)
      .default("The boat drifts slowly to the right, its lantern flickers, ripples spread, water laps softly"),
  }),
  build({ input, job }) {
    const picture = job("picture", cast.image, { prompt: input.scene, aspect_ratio: "16:9" });
    const video = job("video", cast.video, {
      start_image: picture,
      prompt: input.motion,
      aspect_ratio: "16:9",
      ...cast.clip,
    });
    return { picture, video };
  },
});
