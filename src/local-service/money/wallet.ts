import { type Refusal, refuse } from "../http/refusal.ts";
import type { WorkspaceRow } from "../store/rows.ts";
import { usd } from "./micros.ts";

/** What a workspace may still spend. */
export function balanceOf(workspace: WorkspaceRow | undefined): number {
  if (!workspace) return 0;
  return workspace.fundedMicros - workspace.chargedMicros + workspace.refundedMicros;
}

/** The 402 that an empty wallet gets; null when it can pay. `requiredMicros` is null when no price was told. */
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
