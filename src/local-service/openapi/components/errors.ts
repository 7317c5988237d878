import { HTTP_STATUS } from "../../http/refusal.ts";
import { dollars, flag, listOf, object, oneOf, orNull, refTo, text, uri, usd, whole } from "../schema.ts";

const code = oneOf(...Object.keys(HTTP_STATUS));

export const errorComponents = {
  ErrorDetail: object({ field: text, message: text }, { reason: orNull(text), allowed: orNull(listOf(text)) }),
  ErrorBilling: object(
    { balance: dollars, funding_url: uri },
    { required: orNull(dollars), currency: usd, reason: orNull(text) },
  ),
  ErrorObject: object(
    { code, message: text },
    {
      retryable: { ...flag, default: false },
      retry_after: { ...orNull(whole), description: "Seconds." },
      param: orNull(text),
      details: orNull(listOf(refTo("ErrorDetail"))),
      replaced_by: orNull(text),
      billing: orNull(refTo("ErrorBilling")),
    },
  ),
  ErrorResponse: object(
    { error: refTo("ErrorObject") },
    { trace_id: { type: ["string", "null"], pattern: "^[0-9a-f]{32}$" } },
  ),
};
