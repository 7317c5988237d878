import { file, pipeline } from "showrunner";
import { z } from "zod";
import { models } from "../../models.ts";

/** Migrated 5 of 6 v2 bodies to 5 jobs. report.md lists the outcome of every field. */
export default pipeline("storyboard-lines", {
  input: z.object({
    // v2 calls it 22222222-bbbb-4b2b-8b2b-000000000009; first used by line 5, video_id
    crossingLargeSource: file("video"),
  }),
  build({ input, job, upload }) {
    const crossingLargeSource = upload("crossing-large-source", input.crossingLargeSource);
    const dawn = job("dawn", models.image, {
      prompt: "A paper boat at the edge of a misty lake at dawn, wide shot",
      aspect_ratio: "16:9",
    });
    const dusk = job("dusk", models.image, {
      prompt: "The same boat and lake at dusk, a lit lantern in the boat",
      aspect_ratio: "16:9",
      images: [dawn],
    });
    const crossing = job("crossing", models.video, {
      prompt: "The boat crosses the lake as the day passes",
      negative_prompt: "people",
      resolution: "1080p",
      duration_ms: 7000,
      start_image: dawn,
      end_image: dusk,
      aspect_ratio: "16:9",
      quality: "pro",
    });
    const threeShots = job("three-shots", models.video, {
      multi_prompt: [
        {
          prompt: "Hands fold a sheet of paper",
          duration_ms: 3000,
        },
        {
          prompt: "The paper boat touches the water",
          duration_ms: 3000,
        },
        {
          prompt: "It drifts away",
          duration_ms: 4000,
        },
      ],
      aspect_ratio: "16:9",
      resolution: "720p",
      shot_type: "customize",
      duration_ms: 10000,
    });
    // To decide: target_resolution: upscale-1 upscales by a factor, and the factor cannot be calculated because the
    // size of the input is not known
    const crossingLarge = job("crossing-large", models.upscale, {
      source_video: crossingLargeSource,
    });
    return { dawn, dusk, crossing, threeShots, crossingLarge };
  },
});
