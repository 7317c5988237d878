import { pipeline } from "showrunner";
import { z } from "zod";
import { cast } from "./cast.ts";
import { joinClips } from "./lib/film.ts";

const SIDES = ["front", "right side", "back", "left side"] as const;

/**
 * A product turns around once. Each side is drawn with the front as a reference, and each clip goes from one side to
 * the next. The last clip ends on the front again, so that the film loops.
 */
export default pipeline("product-spin", {
  input: z.object({
    product: z.string().min(1).default("A red toy car on a turntable, studio light"),
  }),
  build({ input, job, task }) {
    const style = { aspect_ratio: "1:1" } as const;
    const front = job("front", cast.image, { prompt: `${input.product}, seen from the ${SIDES[0]}`, ...style });
    const others = SIDES.slice(1).map((side) =>
      job(side.replace(" ", "-"), cast.image, {
        prompt: `${input.product}, seen from the ${side}`,
        images: [front],
        ...style,
      }),
    );
    const stops = [front, ...others, front];
    const clips = stops.slice(1).map((end, index) =>
      job(`turn-${index + 1}`, cast.video, {
        prompt: "The turntable turns evenly, nothing else moves",
        start_image: stops[index]!,
        end_image: end,
        ...cast.clip,
        ...cast.silent,
        ...style,
      }),
    );
    const spin = task(
      "spin",
      { clips },
      ({ clips }, { file }) =>
        joinClips(
          clips.map(({ path }) => path),
          file("spin"),
        ),
      {
        files: { spin: "video" },
      },
    );
    return { spin, front };
  },
});
