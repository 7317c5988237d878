import type { StoredEvent } from "../../internal.ts";
import type { EventView } from "../browser/index.ts";
import { endText } from "../served/index.ts";

export function eventView({ seq, at, event }: StoredEvent): EventView {
  const { type } = event;
  const step = "step" in event && typeof event.step === "string" ? { step: event.step } : {};
  const attempt = "attempt" in event && typeof event.attempt === "number" ? { attempt: event.attempt } : {};
  const status = type === "run.finished" || type === "step.finished" ? { status: event.status } : {};
  const why = type === "run.paused" ? event.reason : type === "step.finished" ? endText(event) : null;
  return { seq, at, type, ...step, ...attempt, ...status, ...(why !== null && { reason: why }) };
}
