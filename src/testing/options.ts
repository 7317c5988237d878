import type { FaultRule, LocalServiceOptions } from "showrunner-local";
import type { ChatRequest } from "../core/api/index.ts";
import type { OpenOptions } from "../internal.ts";

/**
 * How time passes in a studio. `short`, for most tests: waits take a hundredth of their duration, and everything else
 * takes no time. `manual`: time stands still until {@link Studio.advance} is called.
 */
export type StudioTime = "short" | "manual";

/** Options of the test service and its engine, with defaults for tests. */
export interface StudioOptions
  extends Omit<LocalServiceOptions, "port" | "host" | "dataDir" | "keys" | "balance" | "faults"> {
  /** Faults that the service has from the start, the same for each killed run. Default: none. */
  readonly faults?: readonly FaultRule[];
  /** The wallet's balance in dollars. Default 1,000. */
  readonly balance?: number;
  /** How time passes. Default `short`. */
  readonly time?: StudioTime;
  /** Answers a chat request. Returns the text, or undefined for the service's own answer; both are charged as usual. */
  readonly chat?: (request: ChatRequest) => string | undefined;
  /**
   * Replaces each model in `generate` steps by a model with the same methods, which returns the test's responses or
   * fails. Default: no provider is called; the local service makes media of the right kind, size and length.
   */
  readonly providers?: Exclude<OpenOptions["providers"], "call">;
}

const DEFAULT_BALANCE = 1_000;
/** A rate limit that is never reached, for tests that do not set one. */
const RATE_LIMIT = { requests: 10_000_000, windowMs: 60_000 };

export function serviceOptions({
  time: _time,
  chat: _chat,
  providers: _providers,
  ...given
}: StudioOptions): LocalServiceOptions {
  return { renderer: "stub", rateLimit: RATE_LIMIT, balance: DEFAULT_BALANCE, ...given };
}
