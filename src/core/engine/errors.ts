import type { LeaseHolder } from "../journal/store.ts";
import { ShowrunnerError } from "../kit/errors.ts";
import { formatUsd } from "../kit/money.ts";
import type { Problem } from "../plan/plan.ts";

/** This process does not have the code of a step. Another process of the engine may have it. */
export class CodeElsewhereError extends ShowrunnerError {
  readonly code = "CODE_ELSEWHERE";
  constructor(runId: string, missing: string) {
    super(`Run ${runId} is left to a worker that has its code: ${missing}`);
  }
}

/** The plan has problems; all of them are listed. Nothing was submitted. */
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
      `The plan costs ${formatUsd(quoteMicros)} USD and the budget is ${formatUsd(budgetMicros)} USD: ${formatUsd(quoteMicros - budgetMicros)} USD short. Nothing was submitted.`,
    );
    this.quoteMicros = quoteMicros;
    this.budgetMicros = budgetMicros;
  }
}

/** What a person accepts with a quote. */
export interface Offer {
  /** Start with it (`quote`), once: what is bought then is this plan at these prices. Null where nothing can be started. */
  readonly id: string | null;
  /**
   * The most that it costs, a decimal of US dollars, without steps that are open-ended: at those the run stops and asks. Null
   * where nothing was priced.
   */
  readonly maximumUsd: string | null;
  /** Epoch milliseconds; null without an id. */
  readonly expiresAt: number | null;
}

export interface QuoteRefusal {
  /**
   * `unknown`: not issued here. `used`: another run was started with it. `plan`: plan or input is another. `price`: it may cost
   * more than was agreed to.
   */
  readonly why: "unknown" | "used" | "expired" | "plan" | "price";
  /** What is not as it was, a line each. */
  readonly changes: readonly string[];
}

const REFUSED: Readonly<Record<QuoteRefusal["why"], string>> = {
  unknown: "is not known",
  used: "was used already",
  expired: "has expired",
  plan: "is for something else",
  price: "is below today's price",
};

/** The plan is not the quoted one any more. Nothing was submitted. `offer` is a quote of the plan as it is now. */
export class QuoteRefusedError extends ShowrunnerError {
  readonly code = "QUOTE_REFUSED";
  readonly quoteId: string;
  readonly why: QuoteRefusal["why"];
  /** What is not as it was, a line each. */
  readonly changes: readonly string[];
  readonly offer: Offer;
  constructor(quoteId: string, { why, changes }: QuoteRefusal, offer: Offer) {
    const listed = changes.map((line) => `\n  ${line}`).join("");
    const now = offer.id === null ? "" : `\nThe quote of what it is now: ${offer.id}, at most ${offer.maximumUsd} USD.`;
    super(`Quote ${quoteId} ${REFUSED[why]}; nothing was submitted:${listed}${now}`);
    this.quoteId = quoteId;
    this.why = why;
    this.changes = changes;
    this.offer = offer;
  }
}

/** The wallet holds less than the plan's minimum price. Nothing was submitted. `startAnyway` starts anyway. */
export class WalletShortError extends ShowrunnerError {
  readonly code = "WALLET_SHORT";
  readonly leastMicros: number;
  readonly balanceMicros: number;
  /** Where a person adds funds, as far as the service has said; null where it has not. */
  readonly fundingUrl: string | null;
  constructor(found: Pick<WalletShortError, "leastMicros" | "balanceMicros" | "fundingUrl">) {
    const { leastMicros, balanceMicros, fundingUrl } = found;
    const where = fundingUrl === null ? "" : ` Add funds: ${fundingUrl}`;
    super(
      `The plan costs at least ${formatUsd(leastMicros)} USD and the wallet holds ${formatUsd(balanceMicros)} USD: ${formatUsd(leastMicros - balanceMicros)} USD short. Nothing was submitted.${where}`,
    );
    this.leastMicros = leastMicros;
    this.balanceMicros = balanceMicros;
    this.fundingUrl = fundingUrl;
  }
}

/** A run with this id exists, and it was planned from another pipeline or input. Nothing was submitted. */
export class RunDiffersError extends ShowrunnerError {
  readonly code = "RUN_DIFFERS";
  readonly runId: string;
  /** What is not the same, a line each. */
  readonly differences: readonly string[];
  /** The command to type next. */
  readonly next: string;
  constructor(runId: string, differences: readonly string[], next: string) {
    const shown = differences.slice(0, 8).map((line) => `\n  ${line}`);
    const more = differences.length > 8 ? `\n  … and ${differences.length - 8} more` : "";
    super(`Run "${runId}" exists and was planned from something else; nothing was submitted:${shown.join("")}${more}`);
    this.runId = runId;
    this.differences = differences;
    this.next = next;
  }
}

/** Another process is driving the run. */
export class RunBusyError extends ShowrunnerError {
  readonly code = "RUN_BUSY";
  readonly runId: string;
  constructor(runId: string, holder: LeaseHolder, expiresAt: number) {
    super(
      `Run "${runId}" is being driven by process ${holder.pid} on ${holder.host}; if that one is frozen or its machine is gone, resume takes the run over after ${new Date(expiresAt).toISOString()}.`,
    );
    this.runId = runId;
  }
}

/** An option has a value that cannot be used. */
export class InvalidOptionError extends ShowrunnerError {
  readonly code = "INVALID_OPTION";
  readonly option: string;
  /** The command to type next, where there is one. */
  readonly next: string | null;
  constructor(option: string, message: string, next: string | null = null) {
    super(`${option}: ${message}`);
    this.option = option;
    this.next = next;
  }
}
