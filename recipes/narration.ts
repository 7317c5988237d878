import { pipeline } from "showrunner";
import { z } from "zod";
import { withSound } from "./lib/film.ts";
import { models } from "./models.ts";

/** Alan, one of the local service's own voices; `showrunner models voices speech-1` lists them. */
const VOICE = "voice_3c8eab21-7d53-4f9c-8e32-8f405c6d7e03";

/** A narrator speaks over a video: both are made at once, and a local task puts the one over the other. */
export default pipeline("narration", {
  input: z.object({
    scene: z.string().min(1).default("A hot air balloon over a patchwork of autumn fields, long shadows, aerial view"),
    words: z.string().min(1).default("From up here, every field is a page somebody has written."),
    voice: z.string().min(1).default(VOICE),
  }),
  build({ input, job, task }) {
    const speech = job("speech", models.speech, { text: input.words, voice_id: input.voice });
    const video = job("video", models.video, {
      prompt: input.scene,
      aspect_ratio: "16:9",
      resolution: "720p",
      duration_ms: 5000,
      generate_audio: false,
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
