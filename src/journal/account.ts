import type { RunEvent } from "./events.ts";

/** The account that events move their run to; null where they do not. */
export function movedTo(events: readonly RunEvent[]): string | null {
  const moved = events.findLast(({ type }) => type === "run.account.moved");
  return moved?.type === "run.account.moved" ? accountOf(moved) : null;
}

/**
 * What the ledger and the upload handles of a store are grouped by: one key at one service. The key's id is no secret.
 */
export function accountOf(run: { readonly baseUrl: string; readonly keyId: string }): string {
  return `${run.keyId}@${run.baseUrl}`;
}
