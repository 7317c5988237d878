import { pipeline } from "showrunner";
import { caption, mix, named } from "showrunner/film";
import { z } from "zod";
import { cast } from "./cast.ts";

/**
 * A presenter says the same text in four languages. All films are equally loud, and have subtitles in the picture and
 * as files.
 */
export default pipeline("avatar-languages", {
  input: z.object({
    look: z
      .string()
      .min(1)
      .default("Portrait of a museum guide in a green jacket, friendly, plain background, front view"),
    /** The text to speak, by language tag. */
    lines: z.record(z.string().regex(/^[a-z]{2}(-[A-Z]{2})?$/), z.string().min(1)).default({
      en: "Welcome to the museum. The tour begins at noon.",
      de: "Willkommen im Museum. Die Führung beginnt am Mittag.",
      fr: "Bienvenue au musée. La visite commence à midi.",
      es: "Bienvenidos al museo. La visita empieza al mediodía.",
    }),
    voice: z.string().min(1).default(cast.voice),
    /** A native voice for each language tag. Languages without an entry here use `voice`. */
    voices: z.record(z.string(), z.string().min(1)).default({}),
  }),
  onFailure: "continue",
  build({ input, job, task }) {
    const face = job("face", cast.image, { prompt: input.look, aspect_ratio: "9:16" });
    const captioned = Object.entries(input.lines).map(([language, text]) => {
      const audio = job(`speech-${language}`, cast.speech, { text, voice_id: input.voices[language] ?? input.voice });
      const video = job(`video-${language}`, cast.avatar, {
        start_image: face,
        audio,
        prompt: "speaks calmly to the camera",
        aspect_ratio: "9:16",
        ...cast.portrait,
      });
      const loud = mix(task, `loud-${language}`, video, { loudness: -14 });
      return [
        language,
        caption(task, `captions-${language}`, loud, { lines: audio.input("text"), style: { box: true } }),
      ] as const;
    });
    return { films: named("guide-{format}", {}, Object.fromEntries(captioned)) };
  },
});
