import { formatUsd, openSteps } from "../../core/kit/money.ts";
import type { QuoteDocument } from "../../core/view/index.ts";
import type { Quote } from "../../index.ts";

/** The quote must have an id. `leftMicros` is null without an overall budget. */
export function quoteDocument(quote: Quote, leftMicros: number | null): QuoteDocument {
  const { min, max } = quote.totalMicros;
  return {
    id: quote.id!,
    maximum: quote.maximumUsd!,
    expires_at: new Date(quote.expiresAt!).toISOString(),
    open_steps: openSteps(quote.prices),
    total: { min: formatUsd(min), max: formatUsd(max), expected: formatUsd(quote.expectedMicros) },
    left: formatUsd(leftMicros),
    expected_ms: quote.forecastMs,
    step_count: quote.plan!.steps.length,
  };
}
