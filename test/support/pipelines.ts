import { z } from "zod";
import { models } from "../../recipes/models.ts";
import type { Builder, PipelineDefinition, Returns } from "../../src/core/define/index.ts";
import { type Pipeline, pipeline } from "../../src/index.ts";

const nothing = z.object({});

/** Defines a pipeline without an input. */
export function pipelineOf<R extends Returns>(
  name: string,
  build: (builder: Builder<z.output<typeof nothing>>) => R,
  settings: Omit<PipelineDefinition<typeof nothing, R>, "input" | "build"> = {},
): Pipeline<typeof nothing, R> {
  return pipeline(name, { input: nothing, build, ...settings });
}

/** A number of independent pictures, `p0`, `p1` and so on. They are not downloaded. */
export const pictures = pipeline("pictures", {
  input: z.object({ count: z.number() }),
  build({ input, job }) {
    for (let n = 0; n < input.count; n++)
      job(`p${n}`, models.image, { prompt: `picture number ${n}` }, { keep: false });
    return {};
  },
});
