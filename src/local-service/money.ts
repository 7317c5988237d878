import { type Refusal, refuse } from "./http/refusal.ts";
import type { WorkspaceRow } from "./store/rows.ts";

/** Micro-dollars per US dollar. All internal amounts are whole micro-dollars. */
export const MICROS_PER_USD = 1_000_000;

/** Converts micro-dollars to decimal dollars, as in API responses. */
export function usd(micros: number): number {
  return micros / MICROS_PER_USD;
}

/** Converts a decimal amount to whole micro-dollars. */
export function micros(dollars: number): number {
  return Math.round(dollars * MICROS_PER_USD);
}

export function balanceOf(workspace: WorkspaceRow | undefined): number {
  if (!workspace) return 0;
  return workspace.fundedMicros - workspace.chargedMicros + workspace.refundedMicros;
}

/** Number of consecutive refusals for insufficient funds after which a workspace cannot upload files. */
const MOST_REFUSALS = 10;

/** Counts a workspace's consecutive refusals for insufficient funds. Adding funds resets the count. */
export function createRefusalCount() {
  const counts = new Map<string, { readonly count: number; readonly fundedMicros: number }>();
  const countOf = ({ workspaceId, fundedMicros }: WorkspaceRow) => {
    const known = counts.get(workspaceId);
    return known?.fundedMicros === fundedMicros ? known.count : 0;
  };
  return {
    refused: (wallet: WorkspaceRow): void => {
      counts.set(wallet.workspaceId, { count: countOf(wallet) + 1, fundedMicros: wallet.fundedMicros });
    },
    paid: (workspaceId: string): void => void counts.delete(workspaceId),
    isPaused: (wallet: WorkspaceRow | undefined): boolean => wallet !== undefined && countOf(wallet) >= MOST_REFUSALS,
  };
}

/** The 402 error for insufficient funds; null if the wallet can pay. `requiredMicros` is null if no price is known. */
export function shortfall(
  workspace: WorkspaceRow | undefined,
  priceMicros: number,
  isQuoted: boolean,
  fundingUrl: string,
): Refusal | null {
  const balance = balanceOf(workspace);
  if (balance > 0 && balance >= priceMicros) return null;
  return refuse("INSUFFICIENT_BALANCE", "The wallet cannot fund this request; add funds at billing.funding_url.", {
    billing: {
      balance: usd(balance),
      required: isQuoted ? usd(priceMicros) : null,
      currency: "USD",
      funding_url: fundingUrl,
      reason: workspace?.cardDeclined ? "card_declined" : null,
    },
  });
}
