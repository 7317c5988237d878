import { type RunEvent, specOf } from "./events.ts";

/** What there is to say of an event beside its type and its step, for people; null where there is nothing. */
export function eventText(event: RunEvent): string | null {
  return specOf(event).line?.(event).text ?? null;
}

/** The line of an event in the live output of a run; null for what only a full listing shows. */
export function liveText(event: RunEvent): string | null {
  const said = specOf(event).line?.(event) ?? null;
  if (said === null || said.isDetail) return null;
  return "step" in event ? `${event.step}: ${said.text}` : said.text;
}
