import { pipeline } from "showrunner";
import { z } from "zod";
import { cast } from "./cast.ts";
import { joinClips } from "./lib/film.ts";

const board = z.object({
  title: z.string(),
  scenes: z
    .array(z.object({ picture: z.string().min(1).max(400), motion: z.string().min(1).max(400) }))
    .min(2)
    .max(4),
});

/**
 * A story becomes a film: a chat model writes the storyboard, every scene is drawn and animated, and a local task joins the clips.
 * The storyboard decides the number of scenes.
 */
export default pipeline("storyboard", {
  input: z.object({
    story: z
      .string()
      .min(1)
      .default("A lighthouse keeper finds a message in a bottle, rows out at dawn, and comes home with a friend."),
  }),
  build({ input, chat, expand, task }) {
    const story = chat(
      "board",
      cast.chat,
      {
        system: "You write storyboards of two to four scenes. Answer with JSON.",
        prompt: `Write the storyboard of this story: ${input.story}`,
      },
      { schema: board, maxCost: "0.05" },
    );
    const clips = expand(
      "scenes",
      story.at("scenes"),
      (scenes, { job }) =>
        scenes.map((scene, index) => {
          const picture = job(`picture-${index + 1}`, cast.image, { prompt: scene.picture, aspect_ratio: "16:9" });
          return job(`clip-${index + 1}`, cast.video, {
            start_image: picture,
            prompt: scene.motion,
            aspect_ratio: "16:9",
            ...cast.clip,
          });
        }),
      { maxSteps: 8, maxCost: "2.00", yields: "video" },
    );
    const film = task(
      "film",
      { clips },
      async ({ clips }, { file }) => {
        const paths = clips.map(({ path }) => path);
        return joinClips(paths, file("film"));
      },
      { files: { film: "video" } },
    );
    return { film };
  },
});
