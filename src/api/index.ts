// Make a client.

export type { KeysApi, NewKey, TokensApi, UsageQuery } from "./account.ts";
// Errors.
export { answerOf, isMediaGone } from "./answer-of.ts";
// Look at the catalog and its prices.
export type { EstimateRequest, ModelQuery } from "./catalog.ts";
export type { ChatCompletion, ChatRequest, ChatUsage } from "./chat.ts";
export type { ChatChunk } from "./chat-stream.ts";
export { type Client, createClient } from "./client.ts";
export { type Clock, sleep, systemClock, type Timer } from "./clock.ts";
export type { DrainSettings, DrainsApi } from "./drain-endpoints.ts";
export {
  ApiError,
  type BillingRefusal,
  type ErrorDetail,
  type ServiceError,
  type ServiceErrorCode,
} from "./errors/api-error.ts";
export {
  ConnectionError,
  DownloadError,
  MalformedResponseError,
  OptionError,
  TimeoutError,
  UnknownOutcomeError,
  UploadError,
} from "./errors/client-errors.ts";
export type { Downloaded, DownloadSource } from "./files/download.ts";
export { safeFileName } from "./files/download.ts";
export type { DownloadOptions } from "./files/fetch-piece.ts";
// Submit.
export type { UploadOptions } from "./files/upload.ts";
export type { MediaKind, UploadSource } from "./files/upload-source.ts";
// Follow.
export type { FollowEvent, FollowOptions, FollowStrategyName } from "./follow/follow-event.ts";
export type { CallOptions } from "./http/call.ts";
export type { RetryOptions } from "./http/retry.ts";
export { classifyStatus, isTerminal, type StatusClass, usableOutputs } from "./job-status.ts";
export type { DeleteOptions, PageQuery, StatusOptions } from "./jobs.ts";
export type { Logger } from "./logger.ts";
export { toMicros } from "./money.ts";
export type { ClientOptions } from "./options.ts";
export type { PaceOptions, PaceSnapshot, RequestClass } from "./pace/pacer.ts";
// Lists, money, access, webhooks, drains, chat.
export type { Listing } from "./paging.ts";
export { redactUrl, redactUrls } from "./redact.ts";
export type { StreamFrame } from "./stream/frame.ts";
export type { StreamOptions } from "./stream/stream.ts";
export type { SubmitOptions, SubmitRequest } from "./submit.ts";
export type { WebhooksApi } from "./webhook-endpoints.ts";
export {
  createDrainHandler,
  type DrainEvent,
  type DrainHandlerOptions,
  verifyLogDrain,
} from "./webhooks/drain-handler.ts";
export { type SeenEvents, seenInFile, seenInMemory } from "./webhooks/seen-events.ts";
// Receive webhooks and log drains.
export {
  type NotificationVerdict,
  type RunNotification,
  verifyNotification,
} from "./webhooks/verify-notification.ts";
export {
  verifyWebhook,
  type WebhookDelivery,
  type WebhookEvent,
  type WebhookRefusal,
  type WebhookVerdict,
} from "./webhooks/verify-webhook.ts";
export { createWebhookHandler, type WebhookHandlerOptions } from "./webhooks/webhook-handler.ts";
export type { ApiKey, CreatedKey, EphemeralToken, Scope } from "./wire/access.ts";
export type { Balance, UploadHandle, Usage } from "./wire/account.ts";
export type { Estimate, Model, ModelSummary, Voice } from "./wire/catalog.ts";
export type { LogDrain } from "./wire/drain.ts";
// Take the results.
export type {
  JobResult,
  JobStatus,
  JobStatusView,
  JobSummary,
  LogEvent,
  Output,
  OutputStatus,
  SubmitAck,
} from "./wire/job.ts";
export type { Page } from "./wire/lenient.ts";
export type { DefaultWebhook, Delivery, DeliveryStatus, Redelivery, WebhookTest } from "./wire/webhook.ts";
