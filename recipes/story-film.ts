import { join as path } from "node:path";
import { file, pipeline } from "showrunner";
import { caption, join, mix, thumbnail } from "showrunner/film";
import { z } from "zod";
import { cast } from "./cast.ts";

const board = z.object({
  title: z.string(),
  scenes: z
    .array(z.object({ picture: z.string().min(1).max(400), motion: z.string().min(1).max(400) }))
    .min(2)
    .max(4),
});

/**
 * A story becomes a finished film: its scenes fade into each other, a narrator speaks over music, with optional subtitles for
 * players and a poster.
 */
export default pipeline("story-film", {
  input: z.object({
    story: z
      .string()
      .min(1)
      .default("A lighthouse keeper finds a message in a bottle, rows out at dawn, and comes home with a friend."),
    music: file("audio").default(path(import.meta.dirname, "assets", "song.wav")),
    voice: z.string().min(1).default(cast.voice),
  }),
  build({ input, chat, job, expand, upload, task }) {
    const story = chat(
      "board",
      cast.chat,
      {
        system: "You write storyboards of two to four scenes. Answer with JSON.",
        prompt: `Write the storyboard of this story: ${input.story}`,
      },
      { schema: board, maxCost: "0.05" },
    );
    const narrator = job("narrator", cast.speech, { text: input.story, voice_id: input.voice });
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
    const cut = join(task, "cut", clips, { fade: 0.4, fadeIn: 0.5, fadeOut: 0.5 });
    const scored = mix(task, "scored", cut, { voice: narrator, music: upload("music", input.music), own: -10 });
    const { film, srt } = caption(task, "subtitles", scored, {
      lines: [{ text: narrator.input("text"), voice: narrator }],
      burn: false,
    });
    return { film, srt, poster: thumbnail(task, "poster", scored) };
  },
});
