import { z } from "zod";
import { currency, optional, optionalMicros, record, text, withDefault } from "./lenient.ts";

/** A catalog entry. A list may carry nothing but id and name. */
export interface ModelSummary {
  readonly id: string;
  /** image, video, audio or a kind this version does not know; null when the list does not say. */
  readonly modality: string | null;
  readonly name: string | null;
  readonly description: string | null;
  readonly priceDescription: string | null;
  readonly logoUrl: string | null;
}

export interface Model extends ModelSummary {
  readonly inputSchema: Readonly<Record<string, unknown>> | null;
  readonly outputSchema: Readonly<Record<string, unknown>> | null;
}

export interface Voice {
  readonly id: string;
  readonly name: string | null;
  readonly previewUrl: string | null;
  readonly labels: Readonly<Record<string, unknown>>;
}

/** What a submit of this input would cost. `costMicros` is null exactly when the model cannot be quoted beforehand. */
export interface Estimate {
  readonly model: string;
  readonly costMicros: number | null;
  readonly quotable: boolean;
  readonly reason: string | null;
  readonly currency: string;
}

const summaryFields = {
  id: z.string(),
  modality: text,
  name: text,
  description: text,
  price_description: text,
  logo_url: text,
};

type SummaryWire = z.output<z.ZodObject<typeof summaryFields>>;

const summaryOf = (wire: SummaryWire): ModelSummary => ({
  id: wire.id,
  modality: wire.modality,
  name: wire.name,
  description: wire.description,
  priceDescription: wire.price_description,
  logoUrl: wire.logo_url,
});

export const modelSummary = z.object(summaryFields).transform(summaryOf);

export const model = z
  .object({ ...summaryFields, input_schema: record, output_schema: record })
  .transform(
    (wire): Model => ({ ...summaryOf(wire), inputSchema: wire.input_schema, outputSchema: wire.output_schema }),
  );

export const voice = z
  .object({ id: z.string(), name: text, preview_url: text, labels: record })
  .transform(
    (wire): Voice => ({ id: wire.id, name: wire.name, previewUrl: wire.preview_url, labels: wire.labels ?? {} }),
  );

export const estimate = z
  .object({
    model: withDefault(z.string(), ""),
    cost: optionalMicros,
    quotable: optional(z.boolean()),
    reason: text,
    currency,
  })
  .refine((wire) => wire.model !== "" || wire.cost !== null || wire.quotable !== null || wire.reason !== null, {
    message: "no model, cost, quotable or reason: this is no estimate",
  })
  .transform((wire): Estimate => {
    const quotable = wire.cost !== null && wire.quotable !== false;
    return {
      model: wire.model,
      costMicros: quotable ? wire.cost : null,
      quotable,
      reason: wire.reason,
      currency: wire.currency,
    };
  });
