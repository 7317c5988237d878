import { join } from "node:path";
import { file, pipeline } from "showrunner";
import { z } from "zod";
import { cast } from "./cast.ts";

/** A podcast excerpt for phones: a drawn host lip-syncs the recording, with a cover to announce it. */
export default pipeline("podcast-clip", {
  input: z.object({
    /** The recording, up to two minutes; the host speaks it unchanged. */
    recording: file("audio").default(join(import.meta.dirname, "assets", "voice-sample.wav")),
    host: z
      .string()
      .min(1)
      .default("A friendly radio host with headphones at a microphone, warm studio light, facing the camera"),
    show: z.string().min(1).default("The night ferry"),
  }),
  consent: "the sample in this repository was synthesized; your own recording needs the consent of the speaker",
  build({ input, upload, job }) {
    const recording = upload("recording", input.recording);
    const host = job("host", cast.image, { prompt: input.host, aspect_ratio: "9:16" });
    const clip = job("clip", cast.avatar, {
      start_image: host,
      audio: recording,
      prompt: "The host talks to the listener and nods now and then",
      aspect_ratio: "9:16",
      ...cast.portrait,
    });
    const cover = job("cover", cast.image, {
      prompt: `Cover of a podcast called "${input.show}", bold and simple, the host on it`,
      images: [host],
      aspect_ratio: "1:1",
    });
    return { clip, cover };
  },
});
