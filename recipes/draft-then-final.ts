import { fieldsOf, pipeline } from "showrunner";
import { z } from "zod";
import { cast } from "./cast.ts";

/**
 * Makes a cheap and fast draft first, and then the final version, with the same pipeline. `--profile draft` lowers the
 * quality, resolution and duration of every job without changing the steps.
 */
export default pipeline("draft-then-final", {
  input: z.object({
    scene: z.string().min(1).default("A night train crossing a stone viaduct, windows lit, snow falling"),
  }),
  profiles: {
    draft: {
      fields: {
        ...fieldsOf(cast.image, cast.coarse.image),
        ...fieldsOf(cast.video, { ...cast.coarse.clip, ...cast.silent }),
      },
    },
  },
  build({ input, job }) {
    const picture = job("picture", cast.image, { prompt: input.scene, aspect_ratio: "16:9", ...cast.fine.image });
    const video = job("video", cast.video, {
      start_image: picture,
      prompt: "The train crosses from left to right, snow streams past, the lights flicker",
      aspect_ratio: "16:9",
      ...cast.fine.clip,
    });
    return { picture, video };
  },
});
