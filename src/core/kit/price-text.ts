import { formatUsd } from "./money.ts";

interface StepPrice {
  readonly step: string;
  readonly costMicros: number | null;
  /** Null if the step has no upper limit. */
  readonly mostMicros: number | null;
}

const MOST_NAMED = 5;

export function openSteps(prices: readonly StepPrice[]): readonly string[] {
  return prices.flatMap(({ step, mostMicros }) => (mostMicros === null ? [step] : []));
}

export function priceText(
  { min, max }: { readonly min: number; readonly max: number | null },
  prices: readonly StepPrice[],
  text: (micros: number) => string = formatUsd,
): string {
  if (max !== null)
    return text(min) === text(max) ? text(max) : `${text(min)} to ${text(max)}${upperEnd(prices, text)}`;
  const open = openSteps(prices).slice(0, MOST_NAMED);
  const more = openSteps(prices).length - open.length;
  return `from ${text(min)}; no maximum for ${open.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function upperEnd(prices: readonly StepPrice[], text: (micros: number) => string): string {
  const above = ({ mostMicros, costMicros }: StepPrice) => (mostMicros ?? 0) - (costMicros ?? 0);
  const dear = prices.filter((price) => above(price) > 0).sort((a, b) => above(b) - above(a));
  const named = dear.slice(0, MOST_NAMED).map(({ step, mostMicros }) => `${step} up to ${text(mostMicros!)}`);
  return named.length === 0 ? "" : ` (${named.join(", ")}${dear.length > named.length ? " …" : ""})`;
}
