import { z } from "zod";
import type { ServiceError } from "../errors/api-error.ts";
import { currency, integer, listOf, micros, optional, optionalMicros, text, withDefault } from "./lenient.ts";

const detail = z
  .object({
    field: withDefault(z.string(), ""),
    message: withDefault(z.string(), ""),
    reason: text,
    allowed: optional(listOf(z.string())),
  })
  .readonly();

const billing = z
  .object({
    balance: micros,
    required: optionalMicros,
    currency,
    funding_url: withDefault(z.string(), ""),
    reason: text,
  })
  .transform((wire) => ({
    balanceMicros: wire.balance,
    requiredMicros: wire.required,
    currency: wire.currency,
    fundingUrl: wire.funding_url,
    reason: wire.reason,
  }));

/** The error object, as it stands in envelopes, in failed jobs and in failed outputs. */
export const serviceError = z
  .object({
    code: z.string(),
    message: withDefault(z.string(), ""),
    retryable: withDefault(z.boolean(), false),
    retry_after: integer,
    param: text,
    details: optional(z.array(detail)),
    replaced_by: text,
    billing: optional(billing),
  })
  .transform(
    (wire): ServiceError => ({
      code: wire.code,
      message: wire.message,
      retryable: wire.retryable,
      retryAfterMs: wire.retry_after === null ? null : Math.max(0, wire.retry_after * 1000),
      param: wire.param,
      details: wire.details,
      replacedBy: wire.replaced_by,
      billing: wire.billing,
    }),
  );

export const errorEnvelope = z.object({ error: serviceError, trace_id: text });
