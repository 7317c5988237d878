import type { Forecast } from "../../index.ts";
import { duration } from "../text/duration.ts";
import { visible } from "../text/escape.ts";

/** What is known before a run about its time and its requests. */
export interface PlanForecast {
  /** Models that have not run here yet, so that nobody can say how long they take. */
  readonly unknownModels: readonly string[];
  /** Requests a minute that the key may send; null when not known. */
  readonly requestsPerMinute: number | null;
  /** Times are null while a model is unknown; requests by polling then count the least. */
  readonly byStrategy: {
    readonly [S in keyof Forecast["byStrategy"]]: { readonly requests: number; readonly makespanMs: number | null };
  };
  readonly expiryRisks: readonly string[];
}

/** The forecast in a few lines: time and requests by polling, by stream and by webhook, and what may expire. */
export function forecastLines({
  unknownModels,
  requestsPerMinute,
  byStrategy,
  expiryRisks,
}: PlanForecast): readonly string[] {
  const { poll, stream, webhook } = byStrategy;
  const rate = requestsPerMinute === null ? "" : ` at ${requestsPerMinute} requests/min`;
  const requests = `API requests: ${unknownModels.length > 0 ? "at least " : ""}${poll.requests} by polling, ${stream.requests} by stream, ${webhook.requests} by webhook`;
  const lines =
    poll.makespanMs === null || stream.makespanMs === null
      ? [`No forecast of time yet: ${listed(unknownModels)} not run here`]
      : [
          poll.makespanMs === stream.makespanMs
            ? `Expected to take ${duration(stream.makespanMs)}${rate}`
            : `Expected to take ${duration(poll.makespanMs)}${rate} by polling, ${duration(stream.makespanMs)} by stream`,
        ];
  lines.push(requests);
  if (expiryRisks.length > 0) {
    lines.push(
      `May expire at the service before their last use, since no copy is kept: ${expiryRisks.map(visible).join(", ")}`,
    );
  }
  return lines;
}

function listed(models: readonly string[]): string {
  const shown = models.slice(0, 4).map(visible).join(", ");
  const rest = models.length > 4 ? ` and ${models.length - 4} more` : "";
  return `${shown}${rest} ${models.length === 1 ? "has" : "have"}`;
}
