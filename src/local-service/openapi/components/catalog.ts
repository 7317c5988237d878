import { dollars, exactly, instant, object, oneOf, orNull, text, uri, usd } from "../schema.ts";

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
  Model: object({ ...summary, input_schema: { type: "object" }, output_schema: { type: "object" } }),
  Voice: object({
    id: { type: "string", pattern: "^voice_" },
    name: text,
    preview_url: orNull(uri),
    labels: { type: "object" },
  }),
  Estimate: object(
    { model: text, currency: usd },
    {
      cost: {
        ...orNull(dollars),
        description:
          "Unknown where `quotable` is false: the inputs must be measured first. It is null then, unless the service was started to say 0 or nothing.",
      },
      quotable: exactly(false),
      reason: text,
    },
  ),
  UploadedFile: object({ url: uri, content_type: text, expires_at: instant }),
  ApiDocument: {
    type: "object",
    required: ["openapi", "info", "paths"],
    properties: { openapi: { type: "string", pattern: "^3\\.1\\." } },
    additionalProperties: true,
  },
};
