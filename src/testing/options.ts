import type { FaultRule, LocalServiceOptions } from "showrunner-local";
import type { ChatRequest } from "../core/api/index.ts";
import type { OpenOptions } from "../internal.ts";

/**
 * - `short`: waits take a hundredth of their time and everything else none; for most tests.
 * - `manual`: time stands still until {@link Studio.advance}.
 */
export type StudioTime = "short" | "manual";

/** Options of the service, with defaults for tests, and of its engine. */
export interface StudioOptions
  extends Omit<LocalServiceOptions, "port" | "host" | "dataDir" | "keys" | "balance" | "faults"> {
  /** The service's faults from the start; the same for every killed run. Default: none. */
  readonly faults?: readonly FaultRule[];
  /** Dollars in the wallet. Default 1,000. */
  readonly balance?: number;
  /** Default `short`. */
  readonly time?: StudioTime;
  /** Scripts chat models: returns an answer's text, or undefined for the service's own answer. Charged as usual. */
  readonly chat?: (request: ChatRequest) => string | undefined;
  /**
   * Replaces each model of `generate` steps, with answers and faults of the test's own and the model's methods.
   * Default: no provider is called; the local service makes media of the right kind, size and length.
   */
  readonly providers?: Exclude<OpenOptions["providers"], "call">;
}

const DEFAULT_BALANCE = 1_000;
/** Tests are not about the key's rate limit unless they set one. */
const RATE_LIMIT = { requests: 10_000_000, windowMs: 60_000 };

export function serviceOptions({
  time: _time,
  chat: _chat,
  providers: _providers,
  ...given
}: StudioOptions): LocalServiceOptions {
  return { renderer: "stub", rateLimit: RATE_LIMIT, balance: DEFAULT_BALANCE, ...given };
}
