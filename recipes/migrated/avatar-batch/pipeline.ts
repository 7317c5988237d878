import { file, pipeline } from "showrunner";
import { shiftSound } from "showrunner/migrate";
import { z } from "zod";
import { models } from "../../models.ts";

/** Migrated 3 v2 bodies to 5 jobs. report.md lists the outcome of every field. */
export default pipeline("avatar-batch", {
  input: z.object({
    // v2 calls it c1a5e0de-7b1f-4f0a-9b53-8a2d0f6e5b11; first used by body 2, audio_id
    keeperVoiceSample: file("audio"),
  }),
  build({ input, job, task, upload }) {
    const keeperVoiceSample = upload("keeper-voice-sample", input.keeperVoiceSample);
    const keeperPortraitInput = {
      quality: "pro",
      prompt: "Portrait of a retired lighthouse keeper in a navy pullover, kind eyes, plain background, front view",
      aspect_ratio: "9:16",
    } as const;
    const keeperPortraitTake1 = job("keeper-portrait-take-1", models.image, { ...keeperPortraitInput, seed: 41 });
    const keeperPortraitTake2 = job("keeper-portrait-take-2", models.image, { ...keeperPortraitInput, seed: 42 });
    const keeperVoice = job("keeper-voice", models.voiceClone, {
      audio: keeperVoiceSample,
      name: "Keeper voice",
    });
    const eveningGreetingSpeech = job("evening-greeting-speech", models.speech, {
      text: "Good evening. Tonight the harbour lights come on by themselves.",
      voice_id: keeperVoice,
      stability: 0,
      speed: 0.95,
      language: "en",
    });
    const eveningGreetingAudioShifted = task(
      "evening-greeting-audio-shifted",
      { sound: eveningGreetingSpeech },
      ({ sound }, { file }) => shiftSound({ from: sound.path, to: file("sound"), startMs: -400 }),
      { files: { sound: "audio" } },
    );
    const eveningGreeting = job("evening-greeting", models.avatar, {
      prompt: "speaks calmly to the camera and nods at the end",
      aspect_ratio: "9:16",
      resolution: "720p",
      start_image: keeperPortraitTake2,
      audio: eveningGreetingAudioShifted,
    });
    return { keeperPortraitTake1, keeperPortraitTake2, keeperVoice, eveningGreeting };
  },
});
