import { z } from "zod";
import { segment } from "./base-url.ts";
import { ApiError } from "./errors/api-error.ts";
import type { CallOptions, HttpContext } from "./http/call.ts";
import { apiRequest, fetchAs } from "./http/endpoint.ts";
import { listJobs, type PageQuery } from "./jobs.ts";
import { type Listing, listing } from "./paging.ts";
import {
  type Estimate,
  estimate,
  type Model,
  type ModelSummary,
  model,
  modelSummary,
  type Voice,
  voice,
} from "./wire/catalog.ts";
import type { JobSummary } from "./wire/job.ts";
import { pageOf } from "./wire/lenient.ts";

export interface EstimateRequest {
  readonly model: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/**
 * What a submit of this input would cost; it is checked like a submit's. A 400 FAILED_PRECONDITION here means "not
 * quotable" for a model that the catalog serves, and "not on v3 yet" for one that it refuses the same way.
 */
export async function estimateCost(
  context: HttpContext,
  requested: EstimateRequest,
  options?: CallOptions,
): Promise<Estimate> {
  const request = apiRequest("POST", `/models/${segment(requested.model)}/estimate`, {
    json: { input: requested.input },
    requestClass: "read",
    repeat: "always",
  });
  try {
    const quote = await fetchAs(context, estimate, request, options);
    return quote.model === "" ? { ...quote, model: requested.model } : quote;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400 || error.code !== "FAILED_PRECONDITION") throw error;
    const found = await readModel(context, requested.model, options).catch((unread: unknown) => {
      if (unread instanceof ApiError && unread.envelope && unread.status === 400) return null;
      throw unread;
    });
    if (found === null) throw error;
    return { model: found.id, costMicros: null, quotable: false, reason: error.serviceMessage, currency: "USD" };
  }
}

export interface ModelQuery extends PageQuery {
  readonly modality?: "image" | "video" | "audio" | undefined;
}

const summaries = pageOf(modelSummary);
const voices = pageOf(voice);
const document = z.record(z.string(), z.unknown());

export function listModels(context: HttpContext, query: ModelQuery = {}, options?: CallOptions): Listing<ModelSummary> {
  const read = (cursor: string | null) =>
    fetchAs(
      context,
      summaries,
      apiRequest("GET", "/models", { query: { modality: query.modality, limit: query.limit, cursor } }),
      options,
    );
  return listing(read, query.cursor);
}

export function readModel(context: HttpContext, id: string, options?: CallOptions): Promise<Model> {
  return fetchAs(context, model, apiRequest("GET", `/models/${segment(id)}`), options);
}

/** An OpenAPI 3.1 document with the one operation of the model. */
export function readModelOpenapi(
  context: HttpContext,
  id: string,
  options?: CallOptions,
): Promise<Record<string, unknown>> {
  return fetchAs(context, document, apiRequest("GET", `/models/${segment(id)}/openapi.json`), options);
}

/** The machine-readable description of the whole API. */
export function readOpenapi(context: HttpContext, options?: CallOptions): Promise<Record<string, unknown>> {
  return fetchAs(context, document, apiRequest("GET", "/openapi.json"), options);
}

export function listModelJobs(
  context: HttpContext,
  id: string,
  query?: PageQuery,
  options?: CallOptions,
): Listing<JobSummary> {
  return listJobs(context, `/models/${segment(id)}/jobs`, query, options);
}

export function listVoices(
  context: HttpContext,
  id: string,
  query: PageQuery = {},
  options?: CallOptions,
): Listing<Voice> {
  const path = `/models/${segment(id)}/voices`;
  const read = (cursor: string | null) =>
    fetchAs(context, voices, apiRequest("GET", path, { query: { limit: query.limit, cursor } }), options);
  return listing(read, query.cursor);
}
