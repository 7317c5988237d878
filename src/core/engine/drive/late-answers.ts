import { type Clock, sleep } from "../../api/index.ts";
import type { RunEvent } from "../../journal/events.ts";
import type { RunState } from "../../journal/state.ts";
import type { JournalStore } from "../../journal/store.ts";
import { isShowrunnerError } from "../../kit/errors.ts";
import { holdOnMs } from "../service/hold-on.ts";

/** What somebody may mend meanwhile, or passes by itself. */
const MAY_PASS: ReadonlySet<string> = new Set([
  "JOURNAL_BUSY",
  "JOURNAL_DISK_FULL",
  "JOURNAL_IO",
  "JOURNAL_READ_ONLY",
  "JOURNAL_UNREACHABLE",
]);

interface Leaving {
  readonly store: JournalStore;
  readonly clock: Clock;
  readonly now: () => number;
  /** Ends the waiting for a journal that takes nothing. */
  readonly stop: AbortSignal;
}

/**
 * Leaves answers of providers that came too late to be written down in the inbox, where the next holder of the run finds them:
 * they are paid for, or say that nothing is, and nobody can ask for them again.
 */
export async function leaveToNext(
  leaving: Leaving,
  { runId, steps }: RunState,
  answers: readonly RunEvent[],
): Promise<void> {
  const { store, now } = leaving;
  for (const answer of answers) {
    if (answer.type !== "job.submitted" && answer.type !== "job.submit.refused") continue;
    const { step, attempt: n } = answer;
    const { key, provider } = steps[step]!.attempts[n - 1]!;
    if (provider === undefined) continue;
    const events = answers.filter((event) => "attempt" in event && event.step === step && event.attempt === n);
    const message = { type: "performed", step, command: `generate:${step}#${n}`, of: key!, events } as const;
    await untilTaken(() => store.send(runId, message, now()), leaving);
  }
}

/** They are nowhere but here: a journal whose disk is full, or that is away, is waited for. */
async function untilTaken(send: () => Promise<unknown>, { clock, stop }: Leaving): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      return void (await send());
    } catch (error) {
      const mayPass = isShowrunnerError(error) && MAY_PASS.has(error.code);
      const waitMs = mayPass && !stop.aborted ? holdOnMs(tries) : null;
      if (waitMs === null) throw error;
      await sleep(clock, waitMs, stop).catch(() => {});
    }
  }
}
