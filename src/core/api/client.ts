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

/** Everything the v3 service offers to one key. */
export interface Client extends JobsApi, CatalogApi, AccountApi {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** The part of the key before the colon; `token` for a token. No secret. */
  readonly keyId: string;
  /** The deployment's brand, where it was given. */
  readonly brand: string | null;

  submit(request: SubmitRequest, options?: SubmitOptions): Promise<SubmitAck>;
  stream(jobId: string, options?: StreamOptions): AsyncIterable<StreamFrame>;
  follow(jobId: string, options?: FollowOptions): AsyncIterable<FollowEvent>;
  /** One read of a job by the schedule of `follow`, and when the next one is due: for whoever keeps no process meanwhile. */
  poll(jobId: string, options: PollOptions): Promise<Polled>;

  upload(source: UploadSource, options?: UploadOptions): Promise<UploadHandle>;
  download(source: DownloadSource, toPath: string, options?: DownloadOptions): Promise<Downloaded>;

  readonly webhooks: WebhooksApi;
  readonly drains: DrainsApi;
  chat(request: ChatRequest, options?: CallOptions): Promise<ChatCompletion>;
  chatStream(request: ChatRequest, options?: CallOptions): AsyncIterable<ChatChunk>;
  /** Any endpoint below the base, its answer as it comes: for what has no method here. */
  request(request: RawRequest, options?: CallOptions): Promise<RawAnswer>;

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
