import type { Dispatcher } from "undici";
import { createAddressGuard } from "../network/index.ts";
import { type AccountApi, accountApi } from "./endpoints/account.ts";
import { type CatalogApi, catalogApi } from "./endpoints/catalog.ts";
import { type ChatChunk, type ChatCompletion, type ChatRequest, chat, chatStream } from "./endpoints/chat.ts";
import {
  type JobsApi,
  jobsApi,
  type SubmitAck,
  type SubmitOptions,
  type SubmitRequest,
  submit,
} from "./endpoints/jobs.ts";
import { type RawAnswer, type RawRequest, request } from "./endpoints/request.ts";
import { type DrainsApi, drainsApi, type WebhooksApi, webhooksApi } from "./endpoints/webhooks.ts";
import { type Downloaded, type DownloadOptions, type DownloadSource, download } from "./files/download.ts";
import { createHandleCache, type UploadHandle, type UploadOptions, type UploadSource, upload } from "./files/upload.ts";
import {
  ackEstimates,
  createDurationHistory,
  createHints,
  type FollowContext,
  type FollowEvent,
  type FollowOptions,
} from "./follow/context.ts";
import { followJob, type Polled, type PollOptions, pollOnce } from "./follow/follow.ts";
import type { CallOptions, HttpContext } from "./http/call.ts";
import { endpointsOf } from "./http/endpoints.ts";
import { createTransport } from "./http/transport.ts";
import { type ClientOptions, settingsOf } from "./options.ts";
import { createPacer, type PaceSnapshot } from "./pace/pacer.ts";
import { type StreamFrame, type StreamOptions, streamJob } from "./stream/stream.ts";
import { telemetry } from "./telemetry.ts";

/** A client for the service's v3 API. All its requests use the same key. */
export interface Client extends JobsApi, CatalogApi, AccountApi {
  /** Base URL of the service's v3 API, without a trailing slash. */
  readonly baseUrl: string;
  /** Id of the key, without its secret; `token` for an ephemeral token, and `none` without a credential. */
  readonly keyId: string;
  /** The `brand` option; null if it was not given. */
  readonly brand: string | null;

  /** Submits a job. Repeating the submission with the same idempotency key returns the same job. */
  submit(request: SubmitRequest, options?: SubmitOptions): Promise<SubmitAck>;
  /** Streams a job's status and log messages. Reconnects if the connection breaks. */
  stream(jobId: string, options?: StreamOptions): AsyncIterable<StreamFrame>;
  /** Follows a job until it ends, by streaming, webhooks or polling. */
  follow(jobId: string, options?: FollowOptions): AsyncIterable<FollowEvent>;
  /** Polls a job once and returns when to poll next. Use it if no process can stay alive to follow the job. */
  poll(jobId: string, options: PollOptions): Promise<Polled>;

  /** Uploads a file. With `reuse`, a file that was uploaded earlier is not sent again. */
  upload(source: UploadSource, options?: UploadOptions): Promise<UploadHandle>;
  /** Downloads an output and checks that it is complete. Resumes if the connection breaks. */
  download(source: DownloadSource, toPath: string, options?: DownloadOptions): Promise<Downloaded>;

  /** Manages webhooks and their deliveries. */
  readonly webhooks: WebhooksApi;
  /** Manages log drains. */
  readonly drains: DrainsApi;
  /** Sends a chat request to a language model. Each call is charged. */
  chat(request: ChatRequest, options?: CallOptions): Promise<ChatCompletion>;
  /** Like `chat`, but yields the response in chunks. */
  chatStream(request: ChatRequest, options?: CallOptions): AsyncIterable<ChatChunk>;
  /** Sends a request to any endpoint of the service and returns the unparsed response. */
  request(request: RawRequest, options?: CallOptions): Promise<RawAnswer>;

  /**
   * Tells the client that a webhook for this job arrived. `createWebhookHandler` calls this for you; a custom receiver
   * must call it after checking the signature.
   */
  notify(jobId: string): void;
  /** Makes `follow` wait for webhooks by default. The first call to `notify` has the same effect. */
  expectWebhooks(): void;

  /** Estimates how many milliseconds the service's clock is ahead of this machine's. */
  clockOffsetMs(): number;
  /** Returns the numbers of sent and queued requests, the rate limit and any pause. */
  pace(): PaceSnapshot;
  /** Closes all connections. Calls in progress fail with ConnectionError. */
  close(): Promise<void>;
}

/** Creates a client. Share one client per key, because each client limits only its own requests. */
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
