import type { Dispatcher } from "undici";
import { createAddressGuard } from "../network/index.ts";
import { type AccountApi, accountApi } from "./endpoints/account.ts";
import { type CatalogApi, catalogApi } from "./endpoints/catalog.ts";
import { type ChatChunk, type ChatCompletion, type ChatRequest, chat, chatStream } from "./endpoints/chat.ts";
import { type JobsApi, jobsApi } from "./endpoints/jobs.ts";
import { type RawAnswer, type RawRequest, request } from "./endpoints/request.ts";
import { type SubmitAck, type SubmitOptions, type SubmitRequest, submit } from "./endpoints/submit.ts";
import { type DrainsApi, drainsApi, type WebhooksApi, webhooksApi } from "./endpoints/webhooks.ts";
import { type Downloaded, type DownloadSource, download } from "./files/download.ts";
import type { DownloadOptions } from "./files/fetch-piece.ts";
import { createHandleCache, type UploadHandle, type UploadOptions, type UploadSource, upload } from "./files/upload.ts";
import {
  ackEstimates,
  createDurationHistory,
  createHints,
  type FollowContext,
  type FollowEvent,
  type FollowOptions,
} from "./follow/context.ts";
import { followJob } from "./follow/follow.ts";
import { type Polled, type PollOptions, pollOnce } from "./follow/poll-once.ts";
import type { CallOptions, HttpContext } from "./http/call.ts";
import { endpointsOf } from "./http/endpoints.ts";
import { createTransport } from "./http/transport.ts";
import { type ClientOptions, settingsOf } from "./options.ts";
import { createPacer, type PaceSnapshot } from "./pace/pacer.ts";
import { type StreamFrame, type StreamOptions, streamJob } from "./stream/stream.ts";
import { telemetry } from "./telemetry.ts";

/** A client for the service's v3 API. All its requests use the same key. */
export interface Client extends JobsApi, CatalogApi, AccountApi {
  /** The service's v3 address, without a trailing slash. */
  readonly baseUrl: string;
  /**
   * The public part of the key: the part before its colon, or its prefix and a few digits of its hash. `token` for a
   * token, `none` without a credential.
   */
  readonly keyId: string;
  /** The `brand` option; null if it was not given. */
  readonly brand: string | null;

  /** Submits a job. Give an idempotency key, so that repeating the submission returns the same job. */
  submit(request: SubmitRequest, options?: SubmitOptions): Promise<SubmitAck>;
  /** Streams the job's status and log frames; reconnects after a broken connection. */
  stream(jobId: string, options?: StreamOptions): AsyncIterable<StreamFrame>;
  /** Follows a job to its end by streaming, waiting for webhooks or polling. */
  follow(jobId: string, options?: FollowOptions): AsyncIterable<FollowEvent>;
  /**
   * Polls a job once on the schedule that `follow` uses, and returns the time of the next poll. Use it if no process
   * runs between two polls.
   */
  poll(jobId: string, options: PollOptions): Promise<Polled>;

  /** Uploads a file. With `reuse`, bytes that were uploaded before are not sent again while their handle is valid. */
  upload(source: UploadSource, options?: UploadOptions): Promise<UploadHandle>;
  /** Downloads an output to a path and checks that the file is complete. Resumes after a broken connection. */
  download(source: DownloadSource, toPath: string, options?: DownloadOptions): Promise<Downloaded>;

  /** Manages the default webhook, deliveries and the signing key. */
  readonly webhooks: WebhooksApi;
  /** Manages log drains. */
  readonly drains: DrainsApi;
  /** Sends a chat request to a language model. It has no idempotency key: each repetition is charged again. */
  chat(request: ChatRequest, options?: CallOptions): Promise<ChatCompletion>;
  /** Like `chat`, but yields the response in chunks as they arrive. */
  chatStream(request: ChatRequest, options?: CallOptions): AsyncIterable<ChatChunk>;
  /**
   * Sends a request to any endpoint below the base URL and returns the unparsed response. Use it for endpoints that
   * have no method here.
   */
  request(request: RawRequest, options?: CallOptions): Promise<RawAnswer>;

  /**
   * Tells the client that a webhook for this job arrived. Any `follow` that waits for webhooks then reads the job.
   * `createWebhookHandler` calls this method for you. In a receiver of your own, call it after checking the signature.
   */
  notify(jobId: string): void;
  /**
   * Tells the client that it will be notified of webhooks, so that the strategy `auto` of `follow` waits for them. The
   * first `notify` has the same effect.
   */
  expectWebhooks(): void;

  /** Estimates by how many milliseconds the service's clock is ahead of this machine's. */
  clockOffsetMs(): number;
  /** Returns how many requests were sent and are waiting, and until when sending is paused. */
  pace(): PaceSnapshot;
  /** Closes all connections. Calls in progress fail with ConnectionError. */
  close(): Promise<void>;
}

/**
 * Creates a client for one key at one service. One pacer limits all its requests, so create one client per key and
 * share it.
 */
export function createClient(options: ClientOptions): Client {
  const settings = settingsOf(options);
  const transport = createTransport(createAddressGuard(settings.base), options.dispatcher as Dispatcher | undefined);
  const pacer = createPacer(settings.clock, options.pace, settings.random);
  const http: HttpContext = { ...settings, transport, pacer };
  const hints = createHints();
  const api = endpointsOf(http);
  const jobs = jobsApi(http, api);
  const context: FollowContext = { ...http, jobs, hints, estimates: ackEstimates(), history: createDurationHistory() };
  const handles = createHandleCache(http.clock);
  return {
    baseUrl: http.base.href,
    keyId: http.keyId,
    brand: http.brand,
    ...jobs,
    ...catalogApi(api),
    ...accountApi(api),
    webhooks: webhooksApi(api),
    drains: drainsApi(api),
    submit: async (request, o) => {
      const ack = await submit(context, request, o);
      if (ack.estimatedCompletionAt !== null) context.estimates.set(ack.jobId, ack.estimatedCompletionAt);
      return ack;
    },
    stream: (jobId, o) => streamJob(context, jobId, o),
    follow: (jobId, o) => followJob(context, jobId, o),
    poll: (jobId, o) => pollOnce(context, jobId, o),
    upload: (source, o) => telemetry.span("showrunner.upload", {}, () => upload(context, handles, source, o)),
    download: (source, toPath, o) =>
      telemetry.span("showrunner.download", {}, () => download(context, jobs, source, toPath, o)),
    chat: (request, o) => chat(api, request, o),
    chatStream: (request, o) => chatStream(context, request, o),
    request: (raw, o) => request(context, raw, o),
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
