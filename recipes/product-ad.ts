import { join as path } from "node:path";
import { file, pipeline } from "showrunner";
import { caption, type Format, join, mix, named, overlay, reframe } from "showrunner/film";
import { z } from "zod";
import { cast } from "./cast.ts";

/**
 * A finished advertisement: two shots of a product, a voice over music, captions timed to the words, and an end card,
 * in three formats. The shots are generated only once; all formats are cut from them.
 */
export default pipeline("product-ad", {
  input: z.object({
    client: z.string().min(1).default("ridge"),
    sku: z.string().min(1).default("kettle-2"),
    product: z.string().min(1).default("A copper kettle on a camp stove, steam rising, mountains at sunrise behind it"),
    line: z.string().min(1).default("The kettle that boils before the sun is up."),
    formats: z
      .array(z.enum(["16:9", "9:16", "1:1", "4:5"]))
      .min(1)
      .default(["16:9", "9:16", "1:1"]),
    music: file("audio").default(path(import.meta.dirname, "assets", "song.wav")),
    voice: z.string().min(1).default(cast.voice),
  }),
  build({ input, job, upload, task }) {
    const speech = job("speech", cast.speech, { text: input.line, voice_id: input.voice });
    const picture = job("picture", cast.image, { prompt: input.product, aspect_ratio: "16:9" });
    const shots = ["The camera moves in slowly", "The camera circles to the left, steam drifts"].map((prompt, index) =>
      job(`shot-${index + 1}`, cast.video, {
        start_image: picture,
        prompt,
        aspect_ratio: "16:9",
        ...cast.clip,
        ...cast.silent,
      }),
    );
    const card = job("card", cast.image, {
      prompt: `End card of an advertisement: ${input.product}`,
      aspect_ratio: "1:1",
    });

    const cut = join(task, "cut", shots, { fade: 0.3, fadeIn: 0.2 });
    const scored = mix(task, "scored", cut, {
      voice: { sound: speech, at: 0.5 },
      music: upload("music", input.music),
      loudness: -14,
    });
    const films = Object.entries(reframe(task, "shape", scored, { to: input.formats, size: "720p" })).map(
      ([format, shaped]) => {
        const name = format.replace(":", "x");
        const { film } = caption(task, `captions-${name}`, shaped, {
          lines: [{ text: speech.input("text"), voice: speech, at: 0.5 }],
          style: { highlight: "#ffd400" },
        });
        return [
          format as Format,
          overlay(task, `card-${name}`, film, { endCard: { picture: card, seconds: 2, fit: "blur" } }),
        ] as const;
      },
    );
    return { ...named("{client}-{sku}-{format}", { client: input.client, sku: input.sku }, Object.fromEntries(films)) };
  },
});
