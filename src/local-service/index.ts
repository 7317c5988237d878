export type { RateLimit } from "./access/rate-limit.ts";
export type { Scope } from "./access/scopes.ts";
export type { ClockControl, ClockMode } from "./clock/clock.ts";
export { findLocalService, type RunningService } from "./data-dir/lock.ts";
export { LocalServiceError, type LocalServiceErrorCode } from "./errors.ts";
export type { FaultRule } from "./faults/rules.ts";
export type { ServiceStats, WalletStats } from "./operator/stats.ts";
export type { KeyOption, LocalServiceOptions } from "./options.ts";
export { type LocalService, startLocalService } from "./start.ts";
