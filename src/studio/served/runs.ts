import { z } from "zod";
import { formatUsd, openSteps } from "../../core/kit/money.ts";
import type { QuoteDocument } from "../../core/view/index.ts";
import type { Json, Quote, Showrunner } from "../../index.ts";
import { optionalPosition, optionalText } from "./bodies.ts";

/**
 * Formats a quote for callers. The quote must have an id. `leftMicros` is what is left of the overall budget, or null
 * if there is none.
 */
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

export function inputSchema(input: z.ZodType): { readonly [keyword: string]: unknown } {
  return z.toJSONSchema(input, { io: "input", unrepresentable: "any" });
}

interface SharedBudget {
  readonly tag: string;
  readonly budgetMicros: number;
}

interface Spends {
  spending(of: { readonly tag: string }): Promise<{ readonly spentMicros: number; readonly heldMicros: number }>;
}

export async function committedMicros(show: Spends, tag: string): Promise<number> {
  const { spentMicros, heldMicros } = await show.spending({ tag });
  return spentMicros + heldMicros;
}

/**
 * Returns how much of a shared budget is left. Does not enforce the budget, which is checked when a job reserves money.
 */
export async function leftOfBudget(show: Spends, { tag, budgetMicros }: SharedBudget): Promise<number> {
  return Math.max(0, budgetMicros - (await committedMicros(show, tag)));
}

interface Verdict extends NonNullable<Parameters<Showrunner["approve"]>[2]> {
  readonly approved: boolean;
  readonly pick?: number | undefined;
}

/** Reads a decision from a request body. A `value`, even null, replaces the value that was shown to the person. */
export function verdictIn(body: Readonly<Record<string, unknown>>, approved: boolean): Verdict {
  const note = optionalText(body, "note", 2000);
  return { approved, note, pick: optionalPosition(body, "pick"), value: body["value"] as Json | undefined };
}

export function decide(
  show: Pick<Showrunner, "approve" | "reject">,
  runId: string,
  step: string,
  { approved, note, by, ...picked }: Verdict,
): Promise<void> {
  return approved ? show.approve(runId, step, { ...picked, note, by }) : show.reject(runId, step, { note, by });
}
