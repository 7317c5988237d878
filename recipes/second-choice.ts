import { pipeline } from "showrunner";
import { z } from "zod";
import { cast } from "./cast.ts";

/** A film with a second choice: if the first attempt fails without a charge, the film is made from a still instead. */
export default pipeline("second-choice", {
  input: z.object({
    scene: z.string().min(1).default("A paper boat on a pond in light rain, seen from above"),
  }),
  build({ input, firstOf }) {
    const clip = { prompt: input.scene, aspect_ratio: "16:9", ...cast.silent } as const;
    const video = firstOf(
      "video",
      [
        (b) => b.job("straight", cast.video, { ...clip, ...cast.longClip }),
        (b) => {
          const still = b.job("still", cast.image, { prompt: input.scene, aspect_ratio: "16:9" });
          return b.job("from-still", cast.video, { ...clip, ...cast.clip, start_image: still });
        },
      ],
      { onModerated: "next" },
    );
    return { video };
  },
});
