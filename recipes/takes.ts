import { pipeline } from "showrunner";
import { z } from "zod";
import { cast } from "./cast.ts";

/** Several takes of one picture; a person picks the one that is filmed. The run waits for that, for as long as it takes. */
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
      { count: input.count, choose: "person", message: "Which cat shall be filmed?" },
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
