import type { Quote } from "../../index.ts";
import { duration } from "../text/duration.ts";
import { visible } from "../text/escape.ts";

const MOST_RISKS = 8;

type Requests = NonNullable<Quote["requests"]>;

/** What is known before a run: its time and requests by polling, by stream and by webhook, and what somebody should act on. */
export function forecastLines({
  requests,
  risks,
  forecastMs,
}: Pick<Quote, "requests" | "risks" | "forecastMs">): readonly string[] {
  if (requests === null) return [];
  // What our own copy heals costs nothing: nobody has to do anything about it.
  const lost = risks.filter(({ heals }) => !heals);
  return [
    timeLine(requests, forecastMs),
    requestLine(requests, forecastMs),
    ...lost.slice(0, MOST_RISKS).map(({ why }) => {
      return `May be gone when it is needed: ${visible(why)}; it would have to be made, and paid for, again`;
    }),
    ...(lost.length > MOST_RISKS ? [`… and ${lost.length - MOST_RISKS} more that may be gone`] : []),
  ];
}

function timeLine(
  { byStrategy: { poll, stream }, perMinute, expansions }: Requests,
  forecastMs: number | null,
): string {
  const rate = perMinute === null ? "" : ` at ${perMinute} requests/min`;
  const grown = expansions.map(({ step, maxSteps }) => `${visible(step)} (up to ${maxSteps} steps)`).join(", ");
  const upTo = grown === "" ? "" : `, up to about ${duration(poll.makespanAtMostMs)} depending on ${grown}`;
  if (forecastMs === null) return `No forecast of time yet: not every model of the longest chain has run here${upTo}`;
  return poll.makespanMs === stream.makespanMs
    ? `Expected to take ${duration(stream.makespanMs)}${rate}${upTo}`
    : `Expected to take ${duration(poll.makespanMs)}${rate} by polling, ${duration(stream.makespanMs)} by stream${upTo}`;
}

function requestLine({ byStrategy }: Requests, forecastMs: number | null): string {
  const { poll, stream, webhook } = byStrategy;
  const range = ({ requests, requestsAtMost }: Requests["byStrategy"]["poll"]) =>
    requestsAtMost > requests ? `${requests} to ${requestsAtMost}` : `${requests}`;
  const about = forecastMs === null ? "about " : "";
  return `API requests: ${about}${range(poll)} by polling, ${range(stream)} by stream, ${range(webhook)} by webhook`;
}
