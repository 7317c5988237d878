import type { RunEvent } from "../journal/events.ts";
import type { LedgerChange } from "../journal/store.ts";

/** What an event means for the money: the ledger is derived from events and written in the same transaction. */
export function ledgerChanges(events: readonly RunEvent[]): readonly LedgerChange[] {
  return events.flatMap((event): readonly LedgerChange[] => {
    switch (event.type) {
      case "job.submit.intended":
        return [{ type: "hold", step: event.step, attempt: event.attempt, amountMicros: event.holdMicros }];
      case "job.hold.raised":
        return [{ type: "raise", step: event.step, attempt: event.attempt, amountMicros: event.holdMicros }];
      case "job.settled":
        return [{ type: "settle", step: event.step, attempt: event.attempt, costMicros: event.costMicros }];
      case "chat.intended":
        return [{ type: "hold", step: event.step, attempt: event.attempt, amountMicros: event.holdMicros }];
      case "chat.answered":
      case "chat.failed":
        return [{ type: "settle", step: event.step, attempt: event.attempt, costMicros: event.costMicros }];
      case "chat.abandoned":
        return [{ type: "settle", step: event.step, attempt: event.attempt, costMicros: event.holdMicros }];
      case "job.submit.refused":
      case "job.submit.withdrawn":
        return [{ type: "release", step: event.step, attempt: event.attempt }];
      case "job.adopted":
        return [{ type: event.jobId === null ? "release" : "charged", step: event.step, attempt: event.attempt }];
      case "job.submitted":
        return [{ type: "charged", step: event.step, attempt: event.attempt }];
      default:
        return [];
    }
  });
}
