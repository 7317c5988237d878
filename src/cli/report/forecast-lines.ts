import type { Quote } from "../../index.ts";
import { duration } from "../text/duration.ts";
import { visible } from "../text/escape.ts";

const MOST_RISKS = 8;

/** What is known before a run: its time and requests by polling, by stream and by webhook, and what may be gone when it is needed. */
export function forecastLines({
  requests,
  risks,
  forecastMs,
}: Pick<Quote, "requests" | "risks" | "forecastMs">): readonly string[] {
  if (requests === null) return [];
  const { poll, stream, webhook } = requests.byStrategy;
  const rate = requests.perMinute === null ? "" : ` at ${requests.perMinute} requests/min`;
  const about = forecastMs === null ? "about " : "";
  return [
    forecastMs === null
      ? "No forecast of time yet: not every model of the longest chain has run here"
      : poll.makespanMs === stream.makespanMs
        ? `Expected to take ${duration(stream.makespanMs)}${rate}`
        : `Expected to take ${duration(poll.makespanMs)}${rate} by polling, ${duration(stream.makespanMs)} by stream`,
    `API requests: ${about}${poll.requests} by polling, ${stream.requests} by stream, ${webhook.requests} by webhook`,
    ...risks.slice(0, MOST_RISKS).map(({ why, heals }) => {
      const then = heals ? "our copy goes back, free of charge" : "it would have to be made, and paid for, again";
      return `May be gone when it is needed: ${visible(why)}; ${then}`;
    }),
    ...(risks.length > MOST_RISKS ? [`… and ${risks.length - MOST_RISKS} more that may be gone`] : []),
  ];
}
