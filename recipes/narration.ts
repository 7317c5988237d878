import { pipeline } from "showrunner";
import { z } from "zod";
import { cast } from "./cast.ts";
import { withSound } from "./lib/film.ts";

/** A narrator speaks over a video: both are generated in parallel, and a local task combines them. */
export default pipeline("narration", {
  input: z.object({
    scene: z.string().min(1).default("A hot air balloon over a patchwork of autumn fields, long shadows, aerial view"),
    words: z.string().min(1).default("From up here, every field is a page somebody has written."),
    voice: z.string().min(1).default(cast.voice),
  }),
  build({ input, job, task }) {
    const speech = job("speech", cast.speech, { text: input.words, voice_id: input.voice });
    const video = job("video", cast.video, {
      prompt: input.scene,
      aspect_ratio: "16:9",
      ...cast.longClip,
      ...cast.silent,
    });
    const narrated = task(
      "narrated",
      { video, speech },
      ({ video, speech }, { file }) => withSound(video.path, speech.path, file("film")),
      { files: { film: "video" } },
    );
    return { narrated };
  },
});
