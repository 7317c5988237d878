import type { RunEvent } from "../../journal/events.ts";
import type { RunState } from "../../journal/state.ts";
import type { JournalStore } from "../../journal/store.ts";

/**
 * Leaves answers of providers that came too late to be written down in the inbox, where the next holder of the run finds them:
 * they are paid for, or say that nothing is, and nobody can ask for them again.
 */
export async function leaveToNext(
  { store, now }: { readonly store: JournalStore; readonly now: () => number },
  { runId, steps }: RunState,
  answers: readonly RunEvent[],
): Promise<void> {
  for (const answer of answers) {
    if (answer.type !== "job.submitted" && answer.type !== "job.submit.refused") continue;
    const { step, attempt: n } = answer;
    const { key, provider } = steps[step]!.attempts[n - 1]!;
    if (provider === undefined) continue;
    const events = answers.filter((one) => "attempt" in one && one.step === step && one.attempt === n);
    const of = key!;
    await store.send(runId, { type: "performed", step, command: `generate:${step}#${n}`, of, events }, now());
  }
}
