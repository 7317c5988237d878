import type { JsonSchema } from "../../catalog/model.ts";
import type { UnquotableCost } from "../../options.ts";
import { anyFields, dollars, exactly, instant, object, oneOf, orNull, text, uri, usd } from "../schema.ts";

const TOLD = { null: "it is null then", zero: "it is 0 then", omit: "it is absent then" } as const;

const modality = oneOf("image", "video", "audio");
const summary = {
  id: text,
  modality,
  name: orNull(text),
  description: orNull(text),
  price_description: text,
  logo_url: orNull(text),
};

export const catalogComponents = {
  ModelSummary: object(summary),
  Model: object({ ...summary, input_schema: anyFields, output_schema: anyFields }),
  Voice: object({
    id: { type: "string", pattern: "^voice_" },
    name: text,
    preview_url: orNull(uri),
    labels: { type: "object", additionalProperties: text },
  }),
  UploadedFile: object({ url: uri, content_type: text, expires_at: instant }),
  ApiDocument: {
    type: "object",
    required: ["openapi", "info", "paths"],
    properties: { openapi: { type: "string", pattern: "^3\\.1\\." } },
    additionalProperties: true,
  },
};

/** The estimate's schema depends on how the service represents an unknown cost. */
export function estimateComponent(unquotable: UnquotableCost): JsonSchema {
  if (unquotable === "refuse") return object({ model: text, cost: dollars, currency: usd });
  const description = `Where \`quotable\` is false, the inputs must be measured first: ${TOLD[unquotable]}.`;
  const cost = { ...(unquotable === "null" ? orNull(dollars) : dollars), description };
  const unquoted = { quotable: exactly(false), reason: text };
  return unquotable === "omit"
    ? object({ model: text, currency: usd }, { cost, ...unquoted })
    : object({ model: text, cost, currency: usd }, unquoted);
}
