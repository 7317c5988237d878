import { file, pipeline } from "showrunner";
import { shiftSound } from "showrunner/migrate";
import { z } from "zod";
import { models } from "../../models.ts";

/** Migrated 7 of 8 v2 bodies to 7 jobs. report.md lists the outcome of every field. */
export default pipeline("hard-cases", {
  input: z.object({
    // a value that the flow inserts into the field text_prompt
    prompt: z.string().min(1),
    // v2 calls it 33333333-cccc-4c3c-8c3c-000000000004; first used by node "Sound or speech", start_keyframe_id
    soundOrSpeechStart: file("image"),
    // v2 calls it 33333333-cccc-4c3c-8c3c-000000000005; first used by node "Sound or speech", audio_id
    soundOrSpeechAudio: file("audio"),
    // v2 voice 33333333-cccc-4c3c-8c3c-000000000006; first used by node "Cantonese"
    voice: z.string().min(1),
  }),
  build({ input, job, task, upload }) {
    const soundOrSpeechStart = upload("sound-or-speech-start", input.soundOrSpeechStart);
    const soundOrSpeechAudio = upload("sound-or-speech-audio", input.soundOrSpeechAudio);
    const productPicture = job("product-picture", models.image, {
      prompt: input.prompt,
      aspect_ratio: "16:9",
    });
    // To decide: model_slug: no v3 model has this name (only other versions exist: video-1), so the most suitable
    // model, video-1, is used for now; confirm it, or choose another model
    const versionThatIsNotThere = job("version-that-is-not-there", models.video, {
      quality: "pro",
      prompt: "A kettle steams on a stove",
      aspect_ratio: "16:9",
      duration_ms: 5000,
      resolution: "1080p",
    });
    // To decide: generated_video_inputs.resolution: the slug contains pro, which video-1 does not offer at 720p;
    // quality standard is used for now; pro is available at 1080p, 4K
    const levelAndResolution = job("level-and-resolution", models.video, {
      prompt: "Rain runs down a window",
      aspect_ratio: "16:9",
      resolution: "720p",
      duration_ms: 5000,
    });
    // To decide: generated_video_inputs.ai_model_id: v3 does not use v2 model ids, so the most suitable model, video-1,
    // is used for now; confirm it, or choose another model
    const modelInside = job("model-inside", models.video, {
      prompt: "A cat stretches in the sun",
      aspect_ratio: "1:1",
      duration_ms: 3000,
    });
    // To decide: reference_image_ids[0]: video-1 accepts no reference images
    // To decide: video_id: video-1 accepts no video to start from
    const filmToStartFrom = job("film-to-start-from", models.video, {
      prompt: "The same street in snow",
      aspect_ratio: "16:9",
      duration_ms: 5000,
    });
    const soundOrSpeechAudioShifted = task(
      "sound-or-speech-audio-shifted",
      { sound: soundOrSpeechAudio },
      ({ sound }, { file }) => shiftSound({ from: sound.path, to: file("sound"), startMs: 2000 }),
      { files: { sound: "audio" } },
    );
    const soundOrSpeech = job("sound-or-speech", models.avatar, {
      prompt: "speaks to the camera",
      aspect_ratio: "9:16",
      resolution: "720p",
      start_image: soundOrSpeechStart,
      audio: soundOrSpeechAudioShifted,
    });
    // To decide: voice_id: v3 does not have this v2 voice; choose a voice of speech-1
    // To decide: language: speech-1 does not support yue
    const cantonese = job("cantonese", models.speech, {
      text: "早晨，歡迎收聽。",
      voice_id: input.voice,
      stability: 0,
      speed: 1,
    });
    return {
      productPicture,
      versionThatIsNotThere,
      levelAndResolution,
      modelInside,
      filmToStartFrom,
      soundOrSpeech,
      cantonese,
    };
  },
});
