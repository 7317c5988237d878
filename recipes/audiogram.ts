import { join as path } from "node:path";
import { file, pipeline } from "showrunner";
import { audiogram, caption, mix } from "showrunner/film";
import { z } from "zod";
import { cast } from "./cast.ts";

/**
 * Turns a podcast excerpt into a video to post: a waveform over a drawn cover, with captions, at podcast loudness.
 */
export default pipeline("audiogram", {
  input: z.object({
    recording: file("audio").default(path(import.meta.dirname, "assets", "voice-sample.wav")),
    /** Transcript of the recording, word for word. */
    script: z
      .string()
      .min(1)
      .default("This is the voice of a recipe: four seconds of speech, from which another voice is made."),
    cover: z
      .string()
      .min(1)
      .default("Cover of a podcast called The night ferry, a ferry with lit windows on dark water"),
  }),
  build({ input, upload, job, task }) {
    const recording = upload("recording", input.recording);
    const cover = job("cover", cast.image, { prompt: input.cover, aspect_ratio: "1:1" });
    const wave = audiogram(task, "wave", recording, { picture: cover, size: "720p" });
    const loud = mix(task, "loud", wave, { loudness: -16 });
    const { film, srt, vtt } = caption(task, "captions", loud, {
      lines: [{ text: input.script, voice: recording }],
      style: { position: "top", highlight: "#ffd400" },
    });
    return { film, srt, vtt };
  },
});
