import { z } from "zod";
import { documentSchemas } from "../../../core/view/index.ts";

const { runDocument, callerDocument, quoteDocument, runLine } = documentSchemas;
const usd = z.string().nullable().describe("US dollars, as a decimal");

/** Agents also learn the run's budget and folder, and what each step uses and returned. */
export const agentDocument = callerDocument.extend({
  ...runDocument.pick({ budget: true, out_dir: true }).shape,
  steps: z.array(
    callerDocument.shape.steps
      .unwrap()
      .element.extend(runDocument.shape.steps.unwrap().element.pick({ model: true, value: true }).shape),
  ),
});
export type AgentDocument = z.output<typeof agentDocument>;

/** A task, which ends with its run, lacks `left`. */
export const startedRun = agentDocument.extend({ left: usd.optional() });

export const stopRequested = z.looseObject({ id: z.string(), stop: z.literal("requested") });

export const runList = z.looseObject({ runs: z.array(runLine) });

const field = z.looseObject({ type: z.string(), required: z.boolean(), description: z.string().nullable() });

export const pipelineList = z.looseObject({
  pipelines: z.array(
    z.looseObject({
      name: z.string(),
      description: z.string().nullable(),
      input: z.record(z.string(), z.union([field, z.string()])),
    }),
  ),
  service: z.string(),
  budget: usd,
  left: usd,
  most_per_run: usd,
  approvals: z.string(),
});

export const pipelineInput = z.looseObject({
  name: z.string(),
  description: z.string().nullable(),
  input_schema: z.unknown().describe("JSON Schema"),
});

export const plannedSteps = z.looseObject({
  pipeline: z.string(),
  steps: z.array(z.looseObject({ path: z.string(), kind: z.string(), needs: z.array(z.string()) })),
});

export const quoted = quoteDocument.extend({
  steps: z.array(
    z.looseObject({ step: z.string(), model: z.string().nullable(), cost: usd, maximum: usd, basis: z.string() }),
  ),
});

export const mediaList = z.looseObject({
  run: z.string(),
  media: z.array(
    z.looseObject({
      url: z.string(),
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

export const modelList = z.looseObject({ models: z.array(z.looseObject(model)) });
export const modelFacts = z.looseObject({ ...model, description: z.string().nullable(), input_schema: z.unknown() });
