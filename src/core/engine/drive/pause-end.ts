import { verdictOf, verdicts } from "../../answers/index.ts";
import { answerOf, type Client, type Clock } from "../../api/index.ts";
import type { PauseState, RunState } from "../../journal/state.ts";

/** How often the wallet is looked at for a run that waits for funds, milliseconds. */
export const FUNDS_EVERY_MS = 10_000;

/** What ends the pause of a run without anybody asking; null: nothing does. */
export function awaitedBy({ status, pause }: Pick<RunState, "status" | "pause">): "funds" | "cap" | null {
  if (status !== "paused" || pause === null) return null;
  if (pause.reason === "funds") return "funds";
  return pause.resumeAt === null ? null : "cap";
}

/** Whether the wallet holds what the run lacks, or its cap counts anew. */
export async function isPauseOver(
  pause: PauseState | null,
  {
    client,
    clock,
    signal,
  }: { readonly client: Client; readonly clock: Clock; readonly signal?: AbortSignal | undefined },
): Promise<boolean> {
  if (pause?.reason !== "funds") return (pause?.resumeAt ?? Number.POSITIVE_INFINITY) <= clock.now();
  const { requiredMicros, balanceMicros } = pause;
  try {
    const wallet = await client.balance({ signal });
    return wallet.balanceMicros >= (requiredMicros ?? (balanceMicros ?? 0) + 1);
  } catch (error) {
    const answer = answerOf(error);
    const isAskedAgain = answer !== null && verdicts[verdictOf("balance", answer)].retried;
    if (!isAskedAgain && signal?.aborted !== true) throw error;
    return false;
  }
}
