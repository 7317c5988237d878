import { type Media, pipeline } from "showrunner";
import { z } from "zod";
import { cast } from "./cast.ts";
import { withSound } from "./lib/film.ts";

const ratio = z.enum(["16:9", "9:16", "1:1"]);

/**
 * One advertisement in every language and format, with plain loops: the picture is drawn and animated once per format, the line is
 * spoken once per language, and each pair becomes a film.
 */
export default pipeline("localized-ad", {
  input: z.object({
    product: z.string().min(1).default("A copper kettle on a camp stove, steam rising, mountains at sunrise behind it"),
    /** The line to speak, by language tag. */
    lines: z
      .record(z.string().regex(/^[a-z]{2}(-[A-Z]{2})?$/), z.string().min(1))
      .default({ "en-GB": "The kettle that boils before the sun is up.", "en-US": "Coffee, before sunrise." }),
    ratios: z.array(ratio).min(1).default(["16:9", "9:16"]),
    voice: z.string().min(1).default(cast.voice),
  }),
  onFailure: "continue",
  build({ input, job, task }) {
    const spoken: Record<string, Media<"audio">> = {};
    for (const [language, line] of Object.entries(input.lines)) {
      spoken[language] = job(`speech-${language}`, cast.speech, { text: line, voice_id: input.voice });
    }
    const films: Record<string, Media<"video">> = {};
    for (const aspect of input.ratios) {
      const name = aspect.replace(":", "x");
      const picture = job(`picture-${name}`, cast.image, { prompt: input.product, aspect_ratio: aspect });
      const clip = job(`clip-${name}`, cast.video, {
        start_image: picture,
        prompt: "The steam drifts, the light grows warmer, the camera moves in slowly",
        aspect_ratio: aspect,
        ...cast.longClip,
        ...cast.silent,
      });
      for (const [language, speech] of Object.entries(spoken)) {
        films[`${name}-${language}`] = task(
          `film-${name}-${language}`,
          { clip, speech },
          ({ clip, speech }, { file }) => withSound(clip.path, speech.path, file("film")),
          { files: { film: "video" } },
        );
      }
    }
    return { films };
  },
});
