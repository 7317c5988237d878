import { join } from "node:path";
import { file, pipeline } from "showrunner";
import { z } from "zod";
import { cast } from "./cast.ts";

/** Clones a voice from a sample, speaks the script with it, and animates a drawn face to the speech. */
export default pipeline("talking-avatar", {
  input: z.object({
    script: z.string().min(1).default("Good evening. Tonight the harbour lights come on by themselves."),
    look: z
      .string()
      .min(1)
      .default("Portrait of a retired lighthouse keeper in a navy pullover, kind eyes, plain background, front view"),
    sample: file("audio").prefault(join(import.meta.dirname, "assets", "voice-sample.wav")),
  }),
  build({ input, job, upload }) {
    const voice = job("voice", cast.voiceClone, { audio: upload("sample", input.sample), name: "keeper" });
    const speech = job("speech", cast.speech, { text: input.script, voice_id: voice });
    const face = job("face", cast.image, { prompt: input.look, aspect_ratio: "9:16" });
    const video = job("video", cast.avatar, {
      start_image: face,
      audio: speech,
      prompt: "speaks calmly to the camera and nods at the end",
      aspect_ratio: "9:16",
      ...cast.portrait,
    });
    return { speech, video };
  },
});
