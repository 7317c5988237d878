import { z } from "zod";
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
