export type { RateLimit, Scope } from "./access/authenticate.ts";
export type { ClockControl, ClockMode } from "./clock/clock.ts";
export { findLocalService, type RunningService } from "./data-dir.ts";
export { LocalServiceError, type LocalServiceErrorCode } from "./errors.ts";
export type { FaultRule, FaultsOption } from "./faults/rules.ts";
export type { ServiceStats, WalletStats } from "./operator/stats.ts";
export type { AsOf, KeyOption, LocalServiceOptions, ReplayOption, UnquotableCost } from "./options.ts";
export type { MediaFile, Renderer, RenderRequest, RenderResult, VoiceProfile } from "./render/contract.ts";
export { type LocalService, startLocalService } from "./start.ts";
