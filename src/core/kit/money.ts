const MICROS_PER_USD = 1_000_000;

/** Parses a dollar amount with at most six decimals (`"5"`, `"0.25"`) to micro-dollars; null if it is malformed. */
export function parseUsd(text: string): number | null {
  // Programs without type checks pass numbers.
  if (typeof text !== "string") return null;
  const match = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text.trim());
  if (match === null) return null;
  return Number(match[1]) * MICROS_PER_USD + Number((match[2] ?? "").padEnd(6, "0"));
}

/** Formats an amount for display, such as `$0.29` or `$0.0015`. Pass `Math.ceil` as `round` for maximum prices. */
export function dollars(amount: number | string, round: (number: number) => number = Math.round): string {
  const micros = typeof amount === "number" ? amount : parseUsd(amount);
  if (micros === null) return `$${amount}`;
  if (micros < 0) return `-${dollars(-micros, round)}`;
  const digits = String(Math.ceil(micros)).length;
  const unit = micros < CENT_MICROS ? 10 ** Math.max(0, digits - 2) : CENT_MICROS;
  return `$${formatUsd(round(micros / unit) * unit)}`;
}

const CENT_MICROS = 10_000;

/** Like {@link formatUsd}, but rounds up to whole cents, so that people can type the amount easily. */
export function wholeCents(micros: number): string {
  return formatUsd(Math.ceil(micros / CENT_MICROS) * CENT_MICROS);
}

/** Formats micro-dollars as a decimal string with two decimals, or more if needed: `0.05`, `1.2345`. Null stays null. */
export function formatUsd(micros: number): string;
export function formatUsd(micros: number | null): string | null;
export function formatUsd(micros: number | null): string | null {
  if (micros === null) return null;
  const sign = micros < 0 ? "-" : "";
  const amount = Math.abs(micros);
  const fraction = String(amount % MICROS_PER_USD)
    .padStart(6, "0")
    .replace(/0{1,4}$/, "");
  return `${sign}${Math.floor(amount / MICROS_PER_USD)}.${fraction}`;
}

interface StepPrice {
  readonly step: string;
  readonly costMicros: number | null;
  /** The maximum cost of the step; null if there is no upper limit. */
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
