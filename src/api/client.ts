import {
  type KeysApi,
  keysApi,
  readBalance,
  readUsage,
  type TokensApi,
  tokensApi,
  type UsageQuery,
} from "./account.ts";
import {
  type EstimateRequest,
  estimateCost,
  listModelJobs,
  listModels,
  listVoices,
  type ModelQuery,
  readModel,
  readModelOpenapi,
  readOpenapi,
} from "./catalog.ts";
import { type ChatCompletion, type ChatRequest, chat } from "./chat.ts";
import { type ChatChunk, chatStream } from "./chat-stream.ts";
import { type DrainsApi, drainsApi } from "./drain-endpoints.ts";
import { createAddressGuard } from "./files/address-guard.ts";
import { type Downloaded, type DownloadSource, download } from "./files/download.ts";
import type { DownloadOptions } from "./files/fetch-piece.ts";
import { createHandleCache, type UploadOptions, upload } from "./files/upload.ts";
import type { UploadSource } from "./files/upload-source.ts";
import { createAckEstimates } from "./follow/ack-estimates.ts";
import { createDurationHistory } from "./follow/duration-history.ts";
import { followJob } from "./follow/follow.ts";
import type { FollowEvent, FollowOptions } from "./follow/follow-event.ts";
import { createHints } from "./follow/hints.ts";
import type { FollowContext } from "./follow/strategy.ts";
import type { CallOptions } from "./http/call.ts";
import { createTransport } from "./http/transport.ts";
import {
  type DeleteOptions,
  deleteJob,
  listJobs,
  listLogs,
  type PageQuery,
  readJob,
  readStatus,
  type StatusOptions,
} from "./jobs.ts";
import { type ClientOptions, settingsOf } from "./options.ts";
import { createPacer, type PaceSnapshot } from "./pace/pacer.ts";
import type { Listing } from "./paging.ts";
import type { StreamFrame } from "./stream/frame.ts";
import { type StreamOptions, streamJob } from "./stream/stream.ts";
import { type SubmitOptions, type SubmitRequest, submit } from "./submit.ts";
import { telemetry } from "./telemetry.ts";
import { type WebhooksApi, webhooksApi } from "./webhook-endpoints.ts";
import type { Balance, UploadHandle, Usage } from "./wire/account.ts";
import type { Estimate, Model, ModelSummary, Voice } from "./wire/catalog.ts";
import type { JobResult, JobStatusView, JobSummary, LogEvent, SubmitAck } from "./wire/job.ts";

/** Everything the v3 service offers to one key. */
export interface Client {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** The part of the key before the colon; `token` for a token. No secret. */
  readonly keyId: string;
  /** The deployment's brand, where it was given. */
  readonly brand: string | null;

  submit(request: SubmitRequest, options?: SubmitOptions): Promise<SubmitAck>;
  job(jobId: string, options?: CallOptions): Promise<JobResult>;
  status(jobId: string, options?: StatusOptions): Promise<JobStatusView>;
  logs(jobId: string, query?: PageQuery, options?: CallOptions): Listing<LogEvent>;
  jobs(query?: PageQuery, options?: CallOptions): Listing<JobSummary>;
  deleteJob(jobId: string, options?: DeleteOptions): Promise<void>;
  stream(jobId: string, options?: StreamOptions): AsyncIterable<StreamFrame>;
  follow(jobId: string, options?: FollowOptions): AsyncIterable<FollowEvent>;

  models(query?: ModelQuery, options?: CallOptions): Listing<ModelSummary>;
  model(id: string, options?: CallOptions): Promise<Model>;
  modelOpenapi(id: string, options?: CallOptions): Promise<Record<string, unknown>>;
  modelJobs(id: string, query?: PageQuery, options?: CallOptions): Listing<JobSummary>;
  voices(id: string, query?: PageQuery, options?: CallOptions): Listing<Voice>;
  estimate(request: EstimateRequest, options?: CallOptions): Promise<Estimate>;
  openapi(options?: CallOptions): Promise<Record<string, unknown>>;

  upload(source: UploadSource, options?: UploadOptions): Promise<UploadHandle>;
  download(source: DownloadSource, toPath: string, options?: DownloadOptions): Promise<Downloaded>;

  balance(options?: CallOptions): Promise<Balance>;
  usage(query?: UsageQuery, options?: CallOptions): Promise<Usage>;
  readonly keys: KeysApi;
  readonly tokens: TokensApi;
  readonly webhooks: WebhooksApi;
  readonly drains: DrainsApi;
  chat(request: ChatRequest, options?: CallOptions): Promise<ChatCompletion>;
  chatStream(request: ChatRequest, options?: CallOptions): AsyncIterable<ChatChunk>;

  /**
   * Says that a webhook for this job came: whoever follows it by webhook reads it now. Use `createWebhookHandler` with
   * this client, or call it from a receiver of your own once the signature was checked.
   */
  notify(jobId: string): void;
  /** Declares that webhooks will reach this client, so that `auto` waits for them. `notify` does so, too. */
  expectWebhooks(): void;

  /** Milliseconds that the service's clock is ahead of this machine's, from its last Date header. */
  clockOffsetMs(): number;
  pace(): PaceSnapshot;
  /** Ends open connections. Calls under way fail with ConnectionError. */
  close(): Promise<void>;
}

/** A client of one key at one service. All its requests pass one pacer, so make one client a key and share it. */
export function createClient(options: ClientOptions): Client {
  const settings = settingsOf(options);
  const transport = createTransport(createAddressGuard(settings.base), options.dispatcher);
  const pacer = createPacer(settings.clock, options.pace, settings.random);
  const hints = createHints();
  const estimates = createAckEstimates();
  const history = createDurationHistory();
  const context: FollowContext = { ...settings, transport, pacer, hints, estimates, history };
  const handles = createHandleCache(settings.clock);
  return {
    baseUrl: settings.base.href,
    keyId: settings.keyId,
    brand: settings.brand,
    submit: async (request, o) => {
      const ack = await submit(context, request, o);
      estimates.remember(ack);
      return ack;
    },
    job: (jobId, o) => readJob(context, jobId, o),
    status: (jobId, o) => readStatus(context, jobId, o),
    logs: (jobId, query, o) => listLogs(context, jobId, query, o),
    jobs: (query, o) => listJobs(context, "/jobs", query, o),
    deleteJob: (jobId, o) => deleteJob(context, jobId, o),
    stream: (jobId, o) => streamJob(context, jobId, o),
    follow: (jobId, o) => followJob(context, jobId, o),
    models: (query, o) => listModels(context, query, o),
    model: (id, o) => readModel(context, id, o),
    modelOpenapi: (id, o) => readModelOpenapi(context, id, o),
    modelJobs: (id, query, o) => listModelJobs(context, id, query, o),
    voices: (id, query, o) => listVoices(context, id, query, o),
    estimate: (request, o) => estimateCost(context, request, o),
    openapi: (o) => readOpenapi(context, o),
    upload: (source, o) => telemetry.span("showrunner.upload", {}, () => upload(context, handles, source, o)),
    download: (source, toPath, o) =>
      telemetry.span("showrunner.download", {}, () => download(context, source, toPath, o)),
    balance: (o) => readBalance(context, o),
    usage: (query, o) => readUsage(context, query, o),
    keys: keysApi(context),
    tokens: tokensApi(context),
    webhooks: webhooksApi(context),
    drains: drainsApi(context),
    chat: (request, o) => chat(context, request, o),
    chatStream: (request, o) => chatStream(context, request, o),
    notify: (jobId) => hints.notify(jobId),
    expectWebhooks: () => hints.feed(),
    clockOffsetMs: () => pacer.clockOffsetMs(),
    pace: () => pacer.snapshot(),
    close: async () => {
      pacer.close();
      await transport.close();
    },
  };
}
