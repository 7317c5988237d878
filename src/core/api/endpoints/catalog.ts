import { z } from "zod";
import { ApiError } from "../errors.ts";
import type { CallOptions } from "../http/call.ts";
import type { Endpoints, Listing, PageQuery } from "../http/endpoints.ts";
import { segment } from "../options.ts";
import { anything, chargeOf, micros, optional, pageOf, record, text, wire, withDefault } from "../wire.ts";
import { type JobSummary, jobPage } from "./jobs.ts";

const summaryFields = {
  id: z.string(),
  /** Kind of output, such as `image`, `video`, `audio` or `text`; null if unknown. */
  modality: text,
  name: text,
  description: text,
  priceDescription: text,
  logoUrl: text,
};

const modelSummary = wire(summaryFields);
/** An entry in the list of models. It may contain only an id and a name. */
export type ModelSummary = z.output<typeof modelSummary>;

const tokenPrices = wire(
  { inputMicros: micros, outputMicros: micros },
  { inputMicros: "usd_per_1m_input_tokens", outputMicros: "usd_per_1m_output_tokens" },
);

const modelFields = wire({
  ...summaryFields,
  inputSchema: record,
  outputSchema: record,
  /** Prices in micro-dollars per million tokens; null if this is not a language model. */
  pricing: optional(tokenPrices),
});
const model = z.preprocess(withPricing, modelFields);
/** A model: its input schema, output kind and prices. */
export type Model = z.output<typeof model>;

function withPricing(answer: unknown): unknown {
  if (typeof answer !== "object" || answer === null || "pricing" in answer) return answer;
  const found = Object.values(answer).find((part) => typeof part === "object" && part !== null && "pricing" in part);
  return found === undefined ? answer : { ...answer, pricing: found.pricing };
}

const voice = wire({
  id: z.string(),
  name: text,
  previewUrl: text,
  labels: record.transform((labels) => labels ?? {}),
});
/** A voice that a model can speak with. */
export type Voice = z.output<typeof voice>;

/** The estimated price of a job. `costMicros` is null if `quotable` is false. */
export interface Estimate {
  readonly model: string;
  readonly costMicros: number | null;
  readonly quotable: boolean;
  readonly reason: string | null;
  readonly currency: string;
}

const estimate = wire({
  model: withDefault(z.string(), ""),
  cost: anything,
  quotable: optional(z.boolean()),
  reason: text,
  currency: withDefault(z.string(), "USD").catch(""),
})
  .transform(({ cost, ...estimate }) => {
    const { costMicros, impossibleCost } = chargeOf({ cost, currency: estimate.currency });
    const reason = impossibleCost === null ? estimate.reason : `the quoted cost is invalid: ${impossibleCost}`;
    return { ...estimate, costMicros, reason };
  })
  .refine(
    (estimate) =>
      estimate.model !== "" || estimate.costMicros !== null || estimate.quotable !== null || estimate.reason !== null,
    {
      message: "the response is not an estimate: the fields model, cost, quotable and reason are all missing",
    },
  )
  .transform((estimate): Estimate => {
    const quotable = estimate.costMicros !== null && estimate.quotable !== false;
    return { ...estimate, costMicros: quotable ? estimate.costMicros : null, quotable };
  });

/** The model and input to estimate a price for. */
export interface EstimateRequest {
  readonly model: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** A filter for the list of models. */
export interface ModelQuery extends PageQuery {
  /** Lists only models with this kind of output. `text` means language models. Default: all kinds. */
  readonly modality?: "image" | "video" | "audio" | "text" | undefined;
}

/** A search query for voices. */
export interface VoiceQuery {
  /** All or part of the voice's name, or a description of it; 1 to 200 characters. */
  readonly q: string;
  /** Maximum number of voices, 1 to 50. The service's default is 20. */
  readonly limit?: number | undefined;
  readonly gender?: "male" | "female" | undefined;
  /** Two-letter language code. */
  readonly language?: string | undefined;
}

/** Reads models, voices and prices. */
export interface CatalogApi {
  /** Lists the models. */
  models(query?: ModelQuery, options?: CallOptions): Listing<ModelSummary>;
  /** Reads a model with its input schema. */
  model(id: string, options?: CallOptions): Promise<Model>;
  /** Reads the OpenAPI 3.1 document for one model. */
  modelOpenapi(id: string, options?: CallOptions): Promise<Record<string, unknown>>;
  /** Lists the account's jobs with this model, newest first. */
  modelJobs(id: string, query?: PageQuery, options?: CallOptions): Listing<JobSummary>;
  /** Lists the model's voices. If the list is incomplete, `searchVoices` finds the others. */
  voices(id: string, query?: PageQuery, options?: CallOptions): Listing<Voice>;
  /** Finds voices, best match first. Not every deployment supports this. */
  searchVoices(id: string, query: VoiceQuery, options?: CallOptions): Promise<readonly Voice[]>;
  /**
   * Returns the price of a job with this input. The service validates the input first. If the model cannot be priced,
   * `quotable` is false.
   */
  estimate(request: EstimateRequest, options?: CallOptions): Promise<Estimate>;
  /** Reads the OpenAPI document for the whole API. */
  openapi(options?: CallOptions): Promise<Record<string, unknown>>;
}

const modelPage = pageOf(modelSummary);
const voicePage = pageOf(voice);
const document = z.record(z.string(), z.unknown());
const pathOf = (id: string) => `/models/${segment(id)}`;

export function catalogApi(api: Endpoints): CatalogApi {
  return {
    models: (query, options) => api.list(modelPage, "/models", query, options, { modality: query?.modality }),
    model: (id, options) => api.get(model, pathOf(id), options),
    modelOpenapi: (id, options) => api.get(document, `${pathOf(id)}/openapi.json`, options),
    modelJobs: (id, query, options) => api.list(jobPage, `${pathOf(id)}/jobs`, query, options),
    voices: (id, query, options) => api.list(voicePage, `${pathOf(id)}/voices`, query, options),
    searchVoices: async (id, { q, limit, gender, language }, options) =>
      (await api.get(voicePage, `${pathOf(id)}/voices/search`, options, { q, limit, gender, language })).data,
    estimate: (request, options) => estimateCost(api, request, options),
    openapi: (options) => api.get(document, "/openapi.json", options),
  };
}

async function estimateCost(api: Endpoints, request: EstimateRequest, options?: CallOptions): Promise<Estimate> {
  const path = pathOf(request.model);
  try {
    const quote = await api.post(estimate, `${path}/estimate`, { input: request.input }, options, {
      requestClass: "read",
      repeat: "always",
    });
    return quote.model === "" ? { ...quote, model: request.model } : quote;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400 || error.code !== "FAILED_PRECONDITION") throw error;
    const found = await api.get(model, path, options).catch((unread: unknown) => {
      if (unread instanceof ApiError && unread.envelope && unread.status === 400) return null;
      throw unread;
    });
    if (found === null) throw error;
    return { model: found.id, costMicros: null, quotable: false, reason: error.serviceMessage, currency: "USD" };
  }
}
