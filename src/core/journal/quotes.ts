import { DAY_MS } from "../kit/duration.ts";
import type { Json } from "../plan/plan.ts";
import type { Columns, Row } from "./columns.ts";

/** A quote that somebody may say yes to. */
export interface IssuedQuote {
  readonly id: string;
  readonly account: string;
  /** What it was made of, by which is said what has changed since. */
  readonly basis: Json;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  /** The run that was started, or resumed, with it; null: none so far. */
  readonly usedBy: string | null;
}

/** How long a quote is remembered after it expired, so that this can be said. */
export const REMEMBERED_MS = 7 * DAY_MS;

/** The quotes of a journal. Each is used by one run, whichever process starts it. */
export interface QuoteStore {
  /** Stores a new one, and forgets those that expired {@link REMEMBERED_MS} before `at`. */
  issueQuote(quote: Omit<IssuedQuote, "usedBy">, at: number): Promise<void>;
  issuedQuote(id: string): Promise<IssuedQuote | null>;
  /** Takes it for this run, for good: true also where the run has it already; false where another has, it expired or is unknown. */
  useQuote(id: string, runId: string, at: number): Promise<boolean>;
}

export const quoteColumns = "id, account, basis, expires_at, used_by";

export function issuedQuoteOf(columns: Columns, row: Row): IssuedQuote {
  return {
    id: columns.text(row, "id"),
    account: columns.text(row, "account"),
    // Written by `issueQuote` only.
    basis: columns.json(row, "basis") as Json,
    expiresAt: columns.integer(row, "expires_at"),
    usedBy: columns.textOrNull(row, "used_by"),
  };
}
