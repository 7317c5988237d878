import { pipeline } from "showrunner";
import { z } from "zod";
import { cast } from "./cast.ts";

/** Several takes of one picture; the run waits until a person picks the one to animate. */
export default pipeline("takes", {
  input: z.object({
    look: z.string().min(1).default("A cat sitting on a garden wall at sunset, storybook style"),
    count: z.int().min(2).max(8).default(3),
  }),
  build({ input, takes, job }) {
    const look = takes(
      "look",
      cast.image,
      { prompt: input.look, aspect_ratio: "16:9" },
      { count: input.count, choose: "person", message: "Which cat should be animated?" },
    );
    const video = job("video", cast.video, {
      start_image: look,
      prompt: "The cat looks up, its tail moves, the light grows warmer",
      aspect_ratio: "16:9",
      ...cast.clip,
    });
    return { look, video };
  },
});
