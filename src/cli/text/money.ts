import { formatUsd, parseUsd } from "../../index.ts";

/** Micro-dollars as a person reads them: at least two decimals, no more than it takes: 290000 gives "$0.29". */
export function dollars(micros: number): string {
  return micros < 0 ? `-$${formatUsd(-micros)}` : `$${formatUsd(micros)}`;
}

/** A decimal amount of dollars typed by a person, with or without its sign; null for what is no amount. */
export function parseDollars(text: string): number | null {
  return parseUsd(text.trim().replace(/^\$/, ""));
}
