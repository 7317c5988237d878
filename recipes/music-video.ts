import { join } from "node:path";
import { file, pipeline } from "showrunner";
import { z } from "zod";
import { cast } from "./cast.ts";
import { joinClips, withSound } from "./lib/film.ts";

/** A music video: the singer is drawn once and appears in each shot, and the song plays over all of them. */
export default pipeline("music-video", {
  input: z.object({
    /** The song; it is cut where the last shot ends. */
    song: file("audio").default(join(import.meta.dirname, "assets", "song.wav")),
    singer: z.string().min(1).default("A cat that sings, storybook style"),
    shots: z
      .array(z.string().min(1))
      .min(1)
      .max(20)
      .default(["walks through a forest at dawn", "dances in the snow at noon", "looks at a full moon by night"]),
  }),
  build({ input, upload, job, task }) {
    const song = upload("song", input.song);
    const wide = { aspect_ratio: "16:9" } as const;
    const singer = job("singer", cast.image, { prompt: input.singer, ...wide });
    const clips = input.shots.map((shot, index) => {
      const n = index + 1;
      const prompt = `${input.singer}, ${shot}`;
      const still = job(`still-${n}`, cast.image, { prompt, images: [singer], ...wide });
      return job(`clip-${n}`, cast.video, {
        ...{ start_image: still, prompt, ...wide },
        ...cast.clip,
        ...cast.silent,
      });
    });
    const cut = task(
      "cut",
      { clips },
      ({ clips }, { file }) =>
        joinClips(
          clips.map(({ path }) => path),
          file("film"),
        ),
      {
        files: { film: "video" },
      },
    );
    const video = task(
      "video",
      { cut, song },
      ({ cut, song }, { file }) => withSound(cut.path, song.path, file("film")),
      {
        files: { film: "video" },
      },
    );
    return { video };
  },
});
