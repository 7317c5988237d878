import { eventText, type StoredEvent } from "../../index.ts";
import { cut } from "./truncate.ts";
import type { EventLine } from "./wire.ts";

/** One line of the event log. */
export function eventLine({ seq, at, event }: StoredEvent): EventLine {
  const step = "step" in event ? event.step : null;
  return { seq, at, type: event.type, step, text: cut(eventText(event) ?? "", 300) };
}
