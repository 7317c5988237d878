import type { RunEvent } from "../journal/events.ts";
import { raisedHold } from "../journal/overcharge.ts";
import type { RunState } from "../journal/state.ts";
import { formatUsd } from "../money.ts";

/** Jobs at the service that will cost more than is reserved for them: nothing new is begun before that is counted. */
export function raisedHolds(state: RunState): readonly RunEvent[] {
  if (Object.keys(state.overcharges).length === 0) return [];
  return Object.values(state.steps).flatMap(({ path, attempts }) =>
    attempts.flatMap(({ n, model, money, quote, holdMicros }): readonly RunEvent[] => {
      if (money !== "held" || model === null) return [];
      const raised = raisedHold(state, model, { quotedMicros: quote?.costMicros ?? null, holdMicros });
      return raised === holdMicros ? [] : [{ type: "job.hold.raised", step: path, attempt: n, holdMicros: raised }];
    }),
  );
}

/** Says of a hold that it is more than the quote; empty where it is not. */
export function whyRaised(model: string, quotedMicros: number | null, holdMicros: number): string {
  if (quotedMicros === null || holdMicros <= quotedMicros) return "";
  return ` (quoted ${formatUsd(quotedMicros)}, and ${model} charged more than its quotes)`;
}
