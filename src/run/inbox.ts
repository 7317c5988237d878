import type { RunEvent } from "../journal/events.ts";
import { isRunFinal, lastAttempt, type RunState } from "../journal/state.ts";
import type { InboxMessage } from "../journal/store.ts";

/** What a message from outside makes happen in a run; a message that no longer applies makes nothing happen. */
export function inboxEvents(state: RunState, message: InboxMessage): readonly RunEvent[] {
  switch (message.type) {
    case "stop":
      if (isRunFinal(state.status) || state.status === "planned" || state.pause?.reason === "stopped") return [];
      return [{ type: "run.paused", reason: "stopped", message: "stopped on request" }];
    case "adopt": {
      const step = state.steps[message.step];
      const attempt = step === undefined ? null : lastAttempt(step);
      if (isRunFinal(state.status) || attempt?.phase !== "unresolved") return [];
      return [{ type: "job.adopted", step: message.step, attempt: attempt.n, jobId: message.jobId }];
    }
    case "approve":
    case "reject":
    case "webhook":
      return [];
    default:
      return message satisfies never;
  }
}
