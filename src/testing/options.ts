import type { FaultRule, LocalServiceOptions } from "showrunner-local";
import type { ChatRequest } from "../core/api/index.ts";
import type { OpenOptions } from "../internal.ts";

/**
 * How time passes in a studio. `short`: waits take a hundredth of their time, and everything else takes no time; for
 * most tests. `manual`: time does not advance until {@link Studio.advance}.
 */
export type StudioTime = "short" | "manual";

/** Options of the test service and its engine, with defaults for tests. */
export interface StudioOptions
  extends Omit<LocalServiceOptions, "port" | "host" | "dataDir" | "keys" | "balance" | "faults"> {
  /** Faults that the service has from the start; every killed run gets the same faults. Default: none. */
  readonly faults?: readonly FaultRule[];
  /** Balance of the wallet in dollars. Default 1,000. */
  readonly balance?: number;
  /** How time passes. Default `short`. */
  readonly time?: StudioTime;
  /** Answers a chat request: returns the text, or undefined for the service's own answer. Charged as usual. */
  readonly chat?: (request: ChatRequest) => string | undefined;
  /**
   * Replaces each model in `generate` steps with a model that has the same methods, but the test's responses and
   * faults. Default: no provider is called; the local service makes media of the right kind, size and length.
   */
  readonly providers?: Exclude<OpenOptions["providers"], "call">;
}

const DEFAULT_BALANCE = 1_000;
/** A rate limit that is never reached, because tests are not about the key's rate limit unless they set one. */
const RATE_LIMIT = { requests: 10_000_000, windowMs: 60_000 };

export function serviceOptions({
  time: _time,
  chat: _chat,
  providers: _providers,
  ...given
}: StudioOptions): LocalServiceOptions {
  return { renderer: "stub", rateLimit: RATE_LIMIT, balance: DEFAULT_BALANCE, ...given };
}
