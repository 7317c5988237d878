import { z } from "zod";

/** The last item of a shortened list is text with the number of missing items. */
const list = <T extends z.ZodType>(item: T) => z.array(z.union([item, z.string()]));
const usd = z.string().nullable().describe("US dollars, as a decimal");

export const runSummary = z.looseObject({
  run: z.string(),
  status: z.string().describe("planned, running, paused, interrupted, succeeded, partial, failed or cancelled"),
  message: z.string().nullable(),
  pause: z.string().nullable().describe("Why the run is paused"),
  cost_usd: usd,
  held_usd: usd,
  budget_usd: usd,
  quote_usd: usd,
  waits_for: z.array(z.string()).describe("Steps waiting for a decision"),
  steps: list(z.looseObject({ path: z.string(), kind: z.string(), status: z.string() })),
});

export const startedRun = runSummary.extend({ left_usd: usd.optional() });

export const stopRequested = z.looseObject({ run: z.string(), stop: z.literal("requested") });

export const runList = z.looseObject({
  runs: list(z.looseObject({ run: z.string(), pipeline: z.string(), status: z.string(), created_at: z.string() })),
});

const field = z.looseObject({ type: z.string(), required: z.boolean(), description: z.string().nullable() });

export const pipelineList = z.looseObject({
  pipelines: list(
    z.looseObject({
      name: z.string(),
      description: z.string().nullable(),
      input: z.record(z.string(), z.union([field, z.string()])),
    }),
  ),
  service: z.string(),
  budget_usd: usd,
  left_usd: usd,
  most_per_run_usd: usd,
  approvals: z.string(),
});

export const pipelineInput = z.looseObject({
  name: z.string(),
  description: z.string().nullable(),
  input_schema: z.unknown().describe("JSON Schema"),
});

export const plannedSteps = z.looseObject({
  pipeline: z.string(),
  steps: list(z.looseObject({ path: z.string(), kind: z.string(), needs: z.array(z.string()) })),
});

export const quoted = z.looseObject({
  quote: z.string().nullable().describe("Pass it to `run_pipeline` once, after a person has agreed to the price"),
  most_usd: usd,
  expires_at: z.string().nullable(),
  total_usd: z.looseObject({ min: z.string(), max: usd, expected: z.string() }),
  left_usd: usd,
  expected_seconds: z.number().nullable(),
  steps: list(
    z.looseObject({ step: z.string(), model: z.string().nullable(), usd, at_most_usd: usd, basis: z.string() }),
  ),
});

export const mediaList = z.looseObject({
  run: z.string(),
  media: list(
    z.looseObject({
      uri: z.string(),
      step: z.string(),
      index: z.number(),
      content_type: z.string(),
      size_bytes: z.number(),
      shown: z.boolean().describe("True if the image is included"),
    }),
  ),
});

const model = {
  id: z.string(),
  modality: z.string().nullable(),
  name: z.string().nullable(),
  price: z.string().nullable(),
};

export const modelList = z.looseObject({ models: list(z.looseObject(model)) });
export const modelFacts = z.looseObject({ ...model, description: z.string().nullable(), input_schema: z.unknown() });
