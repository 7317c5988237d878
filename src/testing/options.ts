import type { FaultRule, LocalServiceOptions } from "showrunner-local";
import type { ChatRequest } from "../core/api/index.ts";
import type { OpenOptions } from "../internal.ts";

/**
 * - `short`: a wait takes a hundredth of its time, and everything else none: for most tests.
 * - `manual`: time stands still until {@link Studio.advance}.
 */
export type StudioTime = "short" | "manual";

/** Options of the service, with defaults for tests, and of the engine on it. */
export interface StudioOptions
  extends Omit<LocalServiceOptions, "port" | "host" | "dataDir" | "keys" | "balance" | "faults"> {
  /** What the service does wrong, from the start; a run that is to be killed meets the same each time. Default: nothing. */
  readonly faults?: readonly FaultRule[];
  /** Dollars in the wallet. Default: 1,000. */
  readonly balance?: number;
  /** Default: `short`. */
  readonly time?: StudioTime;
  /** Scripts chat models: the text of the answer, or undefined for the service's own. Charged as ever. */
  readonly chat?: (request: ChatRequest) => string | undefined;
  /**
   * What `generate` steps ask in place of each model: one with answers and faults of the test's own, with the calls that the
   * model has. Default: no provider is called, and the service makes what is asked for by kind, size and length.
   */
  readonly providers?: Exclude<OpenOptions["providers"], "call">;
}

const DEFAULT_BALANCE = 1_000;
/** No test is about the limit of its key, unless it says so. */
const RATE_LIMIT = { requests: 10_000_000, windowMs: 60_000 };

export function serviceOptions({
  time: _time,
  chat: _chat,
  providers: _providers,
  ...given
}: StudioOptions): LocalServiceOptions {
  return { renderer: "stub", rateLimit: RATE_LIMIT, balance: DEFAULT_BALANCE, ...given };
}
