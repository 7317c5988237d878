import type { FaultRule, LocalServiceOptions } from "showrunner-local";
import type { ChatRequest } from "../core/api/index.ts";
import type { OpenOptions } from "../index.ts";

/**
 * How time passes in a studio. `short`: waits take a hundredth of their duration, and everything else takes no time.
 * `manual`: time stands still until {@link Studio.advance} is called.
 */
export type StudioTime = "short" | "manual";

/** Options for `startStudio`. */
export interface StudioOptions
  extends Omit<LocalServiceOptions, "port" | "host" | "dataDir" | "keys" | "balance" | "faults"> {
  /**
   * Faults that the service simulates. Each run of `assertSurvivesKills` starts with the same faults. Default: none.
   */
  readonly faults?: readonly FaultRule[];
  /** The wallet's balance in dollars. Default 1,000. */
  readonly balance?: number;
  /** How time passes. Default `short`. */
  readonly time?: StudioTime;
  /**
   * Returns the text that answers a chat request, or undefined for the service's own answer. Both are charged as usual.
   */
  readonly chat?: (request: ChatRequest) => string | undefined;
  /**
   * Replaces each model of a `generate` step with the model that `generate` returns. It must have the same methods, and
   * returns responses or fails as the test requires. Default: the local service makes media of the right kind, size and length, and no
   * provider is called.
   */
  readonly providers?: Exclude<OpenOptions["providers"], "call">;
}

const DEFAULT_BALANCE = 1_000;
const RATE_LIMIT = { requests: 10_000_000, windowMs: 60_000 };

export function serviceOptions({
  time: _time,
  chat: _chat,
  providers: _providers,
  ...given
}: StudioOptions): LocalServiceOptions {
  return { renderer: "stub", rateLimit: RATE_LIMIT, balance: DEFAULT_BALANCE, ...given };
}
