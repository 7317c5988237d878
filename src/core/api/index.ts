export { redactUrl, redactUrls } from "../kit/clean-text.ts";
export { safeFileName } from "../kit/file-name.ts";
export { type Client, createClient } from "./client.ts";
export { type Clock, sleep, systemClock, type Timer } from "./clock.ts";
export type {
  ApiKey,
  Balance,
  CreatedKey,
  EphemeralToken,
  Grant,
  KeysApi,
  LlmRequest,
  LlmRequestQuery,
  NewKey,
  Scope,
  TokensApi,
  Transaction,
  Usage,
  UsageQuery,
} from "./endpoints/account.ts";
export type {
  Estimate,
  EstimateRequest,
  Model,
  ModelQuery,
  ModelSummary,
  Voice,
  VoiceQuery,
} from "./endpoints/catalog.ts";
export type { ChatChunk, ChatCompletion, ChatRequest, ChatUsage } from "./endpoints/chat.ts";
export type {
  DeleteOptions,
  JobResult,
  JobStatus,
  JobStatusView,
  JobSummary,
  LogEvent,
  Output,
  OutputStatus,
  StatusOptions,
  SubmitAck,
  SubmitOptions,
  SubmitRequest,
} from "./endpoints/jobs.ts";
export type { RawAnswer, RawRequest } from "./endpoints/request.ts";
export type {
  DefaultWebhook,
  Delivery,
  DeliveryStatus,
  DrainSettings,
  DrainsApi,
  LogDrain,
  Redelivery,
  WebhooksApi,
  WebhookTest,
} from "./endpoints/webhooks.ts";
export {
  ApiError,
  answerOf,
  type BillingRefusal,
  ConnectionError,
  DownloadError,
  type ErrorDetail,
  isMediaGone,
  MalformedResponseError,
  OptionError,
  type ServiceError,
  type ServiceErrorCode,
  TimeoutError,
  UnknownOutcomeError,
  UploadError,
} from "./errors.ts";
export type { Downloaded, DownloadOptions, DownloadSource } from "./files/download.ts";
export type { MediaKind, UploadHandle, UploadOptions, UploadSource } from "./files/upload.ts";
export {
  classifyStatus,
  type FollowEvent,
  type FollowOptions,
  type FollowStrategyName,
  isTerminal,
  type StatusClass,
  usableOutputs,
} from "./follow/context.ts";
export type { PlannedPoll } from "./follow/follow.ts";
export type { CallOptions } from "./http/call.ts";
export type { Listing, PageQuery } from "./http/endpoints.ts";
export type { ClientOptions } from "./options.ts";
export type { Priority, Turn } from "./pace/fair-queue.ts";
export type { PaceOptions, PaceSnapshot, RequestClass } from "./pace/pacer.ts";
export type { Logger } from "./redactor.ts";
export type { RetryOptions } from "./retry.ts";
export type { StreamFrame, StreamOptions } from "./stream/stream.ts";
export { inRun } from "./telemetry.ts";
export {
  type AccountEvent,
  type NotificationVerdict,
  type RunNotification,
  type TopOffFailure,
  verifyNotification,
  verifyWebhook,
  type WebhookDelivery,
  type WebhookEvent,
  type WebhookRefusal,
  type WebhookVerdict,
} from "./webhooks/verify-webhook.ts";
export {
  createDrainHandler,
  createWebhookHandler,
  type DrainEvent,
  type DrainHandlerOptions,
  type SeenEvents,
  seenInFile,
  seenInMemory,
  verifyLogDrain,
  type WebhookHandlerOptions,
} from "./webhooks/webhook-handler.ts";
export { type Page, toMicros } from "./wire.ts";
