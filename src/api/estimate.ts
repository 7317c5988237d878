import { segment } from "./base-url.ts";
import { readModel } from "./catalog.ts";
import { ApiError } from "./errors/api-error.ts";
import type { CallOptions, HttpContext } from "./http/call.ts";
import { apiRequest, fetchAs } from "./http/endpoint.ts";
import { type Estimate, estimate } from "./wire/catalog.ts";

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
  asked: EstimateRequest,
  options?: CallOptions,
): Promise<Estimate> {
  const request = apiRequest("POST", `/models/${segment(asked.model)}/estimate`, {
    json: { input: asked.input },
    requestClass: "read",
    repeat: "always",
  });
  try {
    const quote = await fetchAs(context, estimate, request, options);
    return quote.model === "" ? { ...quote, model: asked.model } : quote;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400 || error.code !== "FAILED_PRECONDITION") throw error;
    const found = await readModel(context, asked.model, options).catch((unread: unknown) => {
      if (unread instanceof ApiError && unread.envelope && unread.status === 400) return null;
      throw unread;
    });
    if (found === null) throw error;
    return { model: found.id, costMicros: null, quotable: false, reason: error.serviceMessage, currency: "USD" };
  }
}
