import { type Refusal, refuse } from "./http/refusal.ts";
import type { WorkspaceRow } from "./store/rows.ts";

export const MICROS_PER_USD = 1_000_000;

export function usd(micros: number): number {
  return micros / MICROS_PER_USD;
}

export function micros(dollars: number): number {
  return Math.round(dollars * MICROS_PER_USD);
}

export function balanceOf(workspace: WorkspaceRow | undefined): number {
  if (!workspace) return 0;
  return workspace.fundedMicros - workspace.chargedMicros + workspace.refundedMicros;
}

/** A workspace cannot upload files after this many consecutive refusals for insufficient funds. */
const MOST_REFUSALS = 10;

/** Counts consecutive refusals for insufficient funds. Added funds or a paid job reset a workspace's count. */
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

/** Returns the 402 error for insufficient funds, or null if the wallet can pay. */
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
