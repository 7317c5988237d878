import type { LeaseHolder } from "../journal/store.ts";
import { ShowrunnerError } from "../kit/errors.ts";
import { formatUsd } from "../kit/money.ts";
import type { Problem } from "../plan/plan.ts";

/** This process does not have the code for a step. Another worker may have it. */
export class CodeElsewhereError extends ShowrunnerError {
  readonly code = "CODE_ELSEWHERE";
  constructor(runId: string, missing: string) {
    super(`Run ${runId} needs a worker that has its code: ${missing}`);
  }
}

/** The plan has problems; the error lists all of them. Nothing was submitted. */
export class PlanProblemsError extends ShowrunnerError {
  readonly code = "PLAN_PROBLEMS";
  readonly problems: readonly Problem[];
  constructor(problems: readonly Problem[]) {
    const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
    super(`The plan has ${count}; nothing was submitted.${problems.map(line).join("")}`);
    this.problems = problems;
  }
}

function line({ step, field, message }: Problem): string {
  const where = [step ?? (field === null ? "plan" : null), field].filter((part) => part !== null).join("  ");
  return `\n  ${where}: ${message}`;
}

/** The quote exceeds the budget. Nothing was submitted. */
export class OverBudgetError extends ShowrunnerError {
  readonly code = "OVER_BUDGET";
  readonly quoteMicros: number;
  readonly budgetMicros: number;
  constructor(quoteMicros: number, budgetMicros: number) {
    super(
      `The plan costs ${formatUsd(quoteMicros)} USD, but the budget is ${formatUsd(budgetMicros)} USD: ${formatUsd(quoteMicros - budgetMicros)} USD short. Nothing was submitted.`,
    );
    this.quoteMicros = quoteMicros;
    this.budgetMicros = budgetMicros;
  }
}

/** The terms that a person accepts with a quote. */
export interface Offer {
  /**
   * The id of the quote. Pass it as `quote` to start this plan at these prices; it can be used once. Null if the plan
   * cannot be started.
   */
  readonly id: string | null;
  /**
   * Maximum cost in US dollars, as a decimal string, not counting steps without an upper limit. Null if nothing was
   * priced.
   */
  readonly maximumUsd: string | null;
  /** When the quote expires, in epoch milliseconds. Null if `id` is null. */
  readonly expiresAt: number | null;
}

export interface QuoteRefusal {
  /**
   * `unknown`: the quote was not issued here. `used`: another run was started with it. `expired`: it is no longer
   * valid. `plan`: the plan or input has changed. `price`: the plan may now cost more than the person agreed to.
   */
  readonly why: "unknown" | "used" | "expired" | "plan" | "price";
  /** The differences from the quoted plan and prices, one per entry. */
  readonly changes: readonly string[];
}

const REFUSED: Readonly<Record<QuoteRefusal["why"], string>> = {
  unknown: "is unknown",
  used: "was already used",
  expired: "has expired",
  plan: "is for a different plan or input",
  price: "is below today's price",
};

/** The quote cannot be used for this plan. Nothing was submitted. `offer` contains a new quote for the current plan. */
export class QuoteRefusedError extends ShowrunnerError {
  readonly code = "QUOTE_REFUSED";
  readonly quoteId: string;
  readonly why: QuoteRefusal["why"];
  /** The differences from the quoted plan and prices, one per entry. */
  readonly changes: readonly string[];
  readonly offer: Offer;
  constructor(quoteId: string, { why, changes }: QuoteRefusal, offer: Offer) {
    const listed = changes.map((line) => `\n  ${line}`).join("");
    const now = offer.id === null ? "" : `\nCurrent quote: ${offer.id}, at most ${offer.maximumUsd} USD.`;
    super(`Quote ${quoteId} ${REFUSED[why]}; nothing was submitted:${listed}${now}`);
    this.quoteId = quoteId;
    this.why = why;
    this.changes = changes;
    this.offer = offer;
  }
}

/** The wallet holds less than the plan's minimum price. Nothing was submitted. Set `startAnyway` to skip this check. */
export class WalletShortError extends ShowrunnerError {
  readonly code = "WALLET_SHORT";
  readonly leastMicros: number;
  readonly balanceMicros: number;
  /** The web page for adding funds; null if unknown. */
  readonly fundingUrl: string | null;
  constructor(found: Pick<WalletShortError, "leastMicros" | "balanceMicros" | "fundingUrl">) {
    const { leastMicros, balanceMicros, fundingUrl } = found;
    const where = fundingUrl === null ? "" : ` Add funds: ${fundingUrl}`;
    super(
      `The plan costs at least ${formatUsd(leastMicros)} USD, but the wallet holds ${formatUsd(balanceMicros)} USD: ${formatUsd(leastMicros - balanceMicros)} USD short. Nothing was submitted.${where}`,
    );
    this.leastMicros = leastMicros;
    this.balanceMicros = balanceMicros;
    this.fundingUrl = fundingUrl;
  }
}

/** A run with this id already exists, with a different pipeline, input, profile or tags. Nothing was submitted. */
export class RunDiffersError extends ShowrunnerError {
  readonly code = "RUN_DIFFERS";
  readonly runId: string;
  /** How the pipeline, input, profile or tags differ from those of the existing run, one difference per entry. */
  readonly differences: readonly string[];
  /** The command to run next. */
  readonly next: string;
  constructor(runId: string, differences: readonly string[], next: string) {
    const shown = differences.slice(0, 8).map((line) => `\n  ${line}`);
    const more = differences.length > 8 ? `\n  … and ${differences.length - 8} more` : "";
    super(
      `Nothing was submitted. Run "${runId}" already exists with a different plan or options:${shown.join("")}${more}`,
    );
    this.runId = runId;
    this.differences = differences;
    this.next = next;
  }
}

/** Another process is executing the run. */
export class RunBusyError extends ShowrunnerError {
  readonly code = "RUN_BUSY";
  readonly runId: string;
  constructor(runId: string, holder: LeaseHolder, expiresAt: number) {
    super(
      `Run "${runId}" is being driven by process ${holder.pid} on ${holder.host}. If that process hangs or its machine is gone, resume takes over after ${new Date(expiresAt).toISOString()}.`,
    );
    this.runId = runId;
  }
}
