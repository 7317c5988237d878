import type { RunState } from "../internal.ts";

/** What a run spent at other providers, micro-dollars: the wallet did not pay it. */
export function chargedElsewhere({ steps }: Pick<RunState, "steps">): number {
  return Object.values(steps)
    .flatMap(({ attempts }) => attempts)
    .reduce((sum, { provider, costMicros }) => sum + (provider === undefined ? 0 : (costMicros ?? 0)), 0);
}
