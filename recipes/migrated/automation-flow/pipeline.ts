import { file, pipeline } from "showrunner";
import { z } from "zod";
import { models } from "../../models.ts";

/** Migrated 2 v2 bodies to 2 jobs. report.md lists the outcome of every field. */
export default pipeline("automation-flow", {
  input: z.object({
    // a value that the flow inserts into the field text
    firstName: z.string().min(1),
    // v2 voice 9f0f2d8e-5a1b-4c6d-8e7f-1a2b3c4d5e6f; first used by node "Generate greeting"
    voice: z.string().min(1),
    // the v2 asset "host.png"; first used by node "Generate clip", start_keyframe_id
    host: file("image"),
  }),
  build({ input, job, upload }) {
    const host = upload("host", input.host);
    // To decide: voice_id: v3 does not have this v2 voice; choose a voice of speech-1
    const greeting = job("greeting", models.speech, {
      text: `Welcome, ${input.firstName}. It is good to have you here.`,
      voice_id: input.voice,
      stability: 0.75,
      speed: 1,
      language: "en",
    });
    // To decide: model_slug: no v3 model has this name, so the most suitable model, avatar-1, is used for now; confirm
    // it, or choose another model
    const clip = job("clip", models.avatar, {
      prompt: "smiles and waves",
      aspect_ratio: "1:1",
      resolution: "1080p",
      start_image: host,
      audio: greeting,
    });
    return { greeting, clip };
  },
});
