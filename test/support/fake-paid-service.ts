import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import type { Polled, PollOptions } from "../../src/core/api/follow/follow.ts";
import {
  ApiError,
  type ChatRequest,
  type Client,
  type Clock,
  ConnectionError,
  DownloadError,
  type FollowEvent,
  type JobResult,
  UnknownOutcomeError,
} from "../../src/core/api/index.ts";
import type { Catalog } from "../../src/core/catalog/index.ts";
import { builtInCatalog } from "./built-in-catalog.ts";
import { PIXEL } from "./tiny-media.ts";

/** Size of a generated picture, unless a test draws its own pictures. */
export const OUTPUT_BYTES = PIXEL.length + 64;

/** A job of the fake service. */
interface FakePaidJob {
  readonly jobId: string;
  readonly model: string;
  readonly key: string;
  readonly body: string;
  readonly costMicros: number;
  readonly createdAt: number;
  readonly outputs: readonly {
    readonly assetId: string | null;
    readonly voiceId: string | null;
    readonly bytes: string;
  }[];
}

/** Called at each boundary of a request; may throw or never return. */
export type Boundary = (point: string) => Promise<void>;

export interface FakeServiceOptions {
  /** Default: the models of the local service. */
  readonly catalog?: Catalog;
  readonly balanceMicros?: number;
  readonly priceMicros?: (model: string, input: unknown) => number | null;
  /** Prefix of job ids, for journals that also contain jobs of another service. Default `job_`. */
  readonly jobIds?: string;
  /** Waits for the duration of a job. */
  readonly sleep?: () => Promise<void>;
  /** Duration of a polled job in milliseconds, measured with `now`. Default 10 000. */
  readonly rendersMs?: number;
  /** Duration of a job or a chat response for a body, measured with `clock`; Infinity if it never ends. */
  readonly takesMs?: (body: string) => number;
  /** Returns the error to throw for a submit; null accepts the submit. */
  readonly refuses?: (model: string, input: unknown) => Error | null;
  /** Returns the response of a chat model, or throws. Default: an empty object. */
  readonly says?: (request: ChatRequest, nth: number) => string;
  readonly chatMicros?: number;
  /** True if the same chat request has a different response each time. Default false. */
  readonly varies?: boolean;
  /** Changes the result that a read of a finished job returns. Default: no change. */
  readonly shows?: (job: JobResult) => Partial<JobResult>;
  /** How long after the submit outputs are accepted as inputs, and when they are erased. Default: no limit. */
  readonly outputsLive?: {
    readonly forMs: number;
    readonly erasedAfterMs: number;
    /** True if results contain the expiry time. */
    readonly isSaid: boolean;
  };
  readonly fails?: (model: string, body: string) => { readonly code: string; readonly retryable: boolean } | null;
}

/**
 * A fake service: it records what it has accepted, charged and stored, without sockets or real time. It outlives the
 * engines of a test, as a real service outlives a crashed process.
 */
export class FakePaidService {
  /** The default clock, which stands still. */
  static readonly standingClock = () => Date.UTC(2030, 0, 1);
  readonly jobs = new Map<string, FakePaidJob>();
  readonly byKey = new Map<string, string>();
  readonly uploads = new Map<string, string>();
  /** Assets whose bytes were erased. */
  readonly erased = new Set<string>();
  /** Expired assets that estimates and submits referenced. */
  readonly askedTooLate: string[] = [];
  /** Chats that were answered and charged, by job id. */
  readonly chats = new Map<string, { readonly request: ChatRequest; readonly costMicros: number }>();
  readonly #options: FakeServiceOptions;
  readonly #catalog: Catalog;
  /** Returns the downloaded bytes for an output: by default a picture with the output's text appended. */
  picture: (bytes: string) => Uint8Array = (bytes) => Buffer.concat([PIXEL, Buffer.from(bytes)]);
  balanceMicros: number;
  submits = 0;
  polls = 0;
  balanceReads = 0;
  now: () => number = FakePaidService.standingClock;
  /** The clock that measures the duration of jobs. */
  clock: Clock | null = null;

  constructor(options: FakeServiceOptions = {}) {
    this.#options = options;
    this.#catalog = options.catalog ?? builtInCatalog();
    this.balanceMicros = options.balanceMicros ?? 1_000_000_000;
  }

  get chargedMicros(): number {
    return [...this.jobs.values()].reduce((sum, job) => sum + job.costMicros, 0);
  }

  /** Prompts of the jobs, in the order in which they were accepted. */
  get prompts(): readonly string[] {
    return [...this.jobs.values()].map(({ body }) => (JSON.parse(body) as { readonly prompt: string }).prompt);
  }

  get chatChargedMicros(): number {
    return [...this.chats.values()].reduce((sum, chat) => sum + chat.costMicros, 0);
  }

  /** Returns a client. `boundary` is called before a request is sent, after it is processed, and before its response is read. */
  client(boundary: Boundary = async () => {}): Client {
    const talk = async <T>(name: string, serve: () => T | Promise<T>): Promise<T> => {
      await boundary(`${name}: before sending`);
      const answer = await serve();
      await boundary(`${name}: accepted`);
      return answer;
    };
    const client = {
      baseUrl: "https://paper.test/v3",
      keyId: "paper",
      brand: null,
      model: (id: string) => talk("model", () => this.#model(id)),
      models: () => listing([]),
      modelJobs: (id: string) =>
        listing(
          [...this.jobs.values()]
            .filter(({ model }) => model === id)
            .map(({ jobId, model, costMicros, createdAt }) => {
              return { jobId, model, status: "COMPLETED", costMicros, createdAt: new Date(createdAt).toISOString() };
            })
            .reverse(),
        ),
      voices: () => listing([{ id: "voice_stock", name: null, labels: {} }]),
      searchVoices: async () => [],
      estimate: ({ model, input }: { model: string; input: unknown }) => {
        const late = this.#refuseLate(input);
        if (late !== null) return talk("estimate", () => Promise.reject(late));
        const costMicros = this.#price(model, input);
        const reason = costMicros === null ? "measured at submit" : null;
        return talk("estimate", () => ({ model, costMicros, quotable: costMicros !== null, reason, currency: "USD" }));
      },
      submit: (request: { model: string; input: unknown; idempotencyKey: string }, options?: { mayExist?: boolean }) =>
        talk("submit", () => this.#submit(request, options?.mayExist ?? false)),
      chat: (request: ChatRequest) =>
        talk("chat", async () => {
          await this.#until(this.now() + (this.#options.takesMs?.(JSON.stringify(request)) ?? 0));
          return this.#chat(request);
        }),
      job: (jobId: string) => talk("job", () => this.#chatJob(jobId) ?? this.#result(jobId)),
      follow: (jobId: string, o?: { signal?: AbortSignal }) => this.#follow(jobId, talk, o?.signal),
      poll: (jobId: string, o: PollOptions) => this.#poll(jobId, o, talk),
      upload: (source: { path?: string; bytes?: Uint8Array }) =>
        talk("upload", async () => {
          const bytes = source.path === undefined ? source.bytes! : await readFile(source.path);
          const url = `https://paper.test/files/${createHash("sha256").update(bytes).digest("hex")}?sig=${this.uploads.size}`;
          this.uploads.set(url, Buffer.from(bytes).toString("hex"));
          return { url, contentType: "application/octet-stream", expiresAt: null };
        }),
      download: ({ jobId, outputIndex }: { jobId: string; outputIndex: number }, path: string) =>
        talk("download", async () => {
          const { bytes, assetId } = this.jobs.get(jobId)!.outputs[outputIndex]!;
          if (this.erased.has(assetId ?? "") || this.#isErased(this.jobs.get(jobId)!))
            throw new DownloadError("it is erased", { reason: "expired" });
          const picture = this.picture(bytes);
          await writeFile(path, picture);
          return { path, sha256: "", sizeBytes: picture.length, contentType: "image/png" };
        }),
      balance: () =>
        talk("balance", () => ({
          ...this.#countRead(),
          balanceMicros: this.balanceMicros,
          currency: "USD",
          spentMicros: null,
        })),
      pace: () => ({ sent: 0 }),
      clockOffsetMs: () => 0,
      close: async () => {},
    };
    return client as unknown as Client;
  }

  #countRead(): object {
    this.balanceReads++;
    return {};
  }

  #price(model: string, input: unknown): number | null {
    return this.#options.priceMicros === undefined ? 100_000 : this.#options.priceMicros(model, input);
  }

  #model(id: string) {
    const found = this.#catalog.model(id);
    if (found === null) throw apiError(404, "NOT_FOUND");
    return { ...found };
  }

  #chat(request: ChatRequest) {
    const content = this.#options.says?.(request, this.chats.size) ?? "{}";
    const costMicros = this.#options.chatMicros ?? 1_000;
    this.balanceMicros -= costMicros;
    const id = `job_chat_${this.chats.size + 1}`;
    this.chats.set(id, { request, costMicros });
    return { id, model: request.model, content, finishReason: "stop", usage: null, raw: {} };
  }

  #chatJob(jobId: string): { readonly costMicros: number } | null {
    return this.chats.get(jobId) ?? null;
  }

  #submit(
    { model, input, idempotencyKey }: { model: string; input: unknown; idempotencyKey: string },
    mayExist: boolean,
  ) {
    this.submits++;
    const known = this.byKey.get(idempotencyKey);
    const ack = (jobId: string, replayed: boolean) => {
      const url = `https://paper.test/v3/jobs/${jobId}`;
      return {
        jobId,
        model,
        status: "IN_QUEUE",
        statusUrl: url,
        resultUrl: url,
        estimatedCompletionAt: null,
        replayed,
        sends: 1,
      };
    };
    if (known !== undefined) return ack(known, true);
    const refusal = this.#options.refuses?.(model, input) ?? this.#refuseLate(input);
    if (refusal !== null) {
      throw mayExist ? new UnknownOutcomeError({ model, idempotencyKey, cause: refusal }) : refusal;
    }
    const costMicros = this.#price(model, input) ?? 70_000;
    if (costMicros > this.balanceMicros) {
      const billing = {
        balanceMicros: this.balanceMicros,
        requiredMicros: costMicros,
        currency: "USD",
        fundingUrl: "https://paper.test/fund",
        reason: null,
      };
      const cause = apiError(402, "INSUFFICIENT_BALANCE", { billing });
      throw mayExist ? new UnknownOutcomeError({ model, idempotencyKey, cause }) : cause;
    }
    this.balanceMicros -= costMicros;
    const body = JSON.stringify(input);
    const jobId = `${this.#options.jobIds ?? "job_"}${this.jobs.size + 1}`;
    const count = (input as { num_outputs?: number }).num_outputs ?? 1;
    const outputs = Array.from({ length: count }, (_, index) => {
      const digest = createHash("sha256")
        .update(`${model} ${withoutHandles(body)} ${index}${this.#options.varies === true ? jobId : ""}`)
        .digest("hex");
      const isVoice = model.startsWith("voice");
      const id = digest.slice(0, 12);
      return { assetId: isVoice ? null : `asset_${id}`, voiceId: isVoice ? `voice_${id}` : null, bytes: digest };
    });
    this.jobs.set(jobId, { jobId, model, key: idempotencyKey, body, costMicros, createdAt: this.now(), outputs });
    this.byKey.set(idempotencyKey, jobId);
    return ack(jobId, false);
  }

  #refuseLate(input: unknown): ApiError | null {
    const asked = [...JSON.stringify(input).matchAll(/"asset_id":"([^"]+)"/g)].map(([, id]) => id!);
    const late = asked.filter((id) => {
      const made = [...this.jobs.values()].filter(({ outputs }) => outputs.some(({ assetId }) => assetId === id));
      return made.length > 0 && made.every((job) => this.now() >= this.#livesUntil(job));
    });
    this.askedTooLate.push(...late);
    const details = [{ field: "input", message: "it expired", reason: "expired", allowed: null }];
    return late.length === 0 ? null : apiError(400, "INVALID_ARGUMENT", { details });
  }

  #livesUntil({ createdAt }: FakePaidJob): number {
    return createdAt + (this.#options.outputsLive?.forMs ?? Number.POSITIVE_INFINITY);
  }

  #isErased(job: FakePaidJob): boolean {
    return this.now() >= this.#livesUntil(job) + (this.#options.outputsLive?.erasedAfterMs ?? 0);
  }

  #result(jobId: string): JobResult {
    const job = this.jobs.get(jobId)!;
    const isErased = this.#isErased(job);
    const expiresAt = this.#options.outputsLive?.isSaid === true ? new Date(this.#livesUntil(job)).toISOString() : null;
    const failure = this.#options.fails?.(job.model, job.body) ?? null;
    const outputs = job.outputs.map(({ assetId, voiceId }, index) => ({
      index,
      status: isErased ? ("EXPIRED" as const) : ("COMPLETED" as const),
      assetId: isErased ? null : assetId,
      voiceId,
      expiresAt,
      url: assetId === null || isErased ? null : `https://paper.test/media/${assetId}`,
      contentType: assetId === null ? null : "image/png",
      width: null,
      height: null,
      durationMs: null,
      fps: null,
      error: null,
    }));
    const result = {
      jobId,
      model: job.model,
      quality: null,
      status: failure === null ? "COMPLETED" : "FAILED",
      prompt: (JSON.parse(job.body) as { readonly prompt?: string }).prompt ?? null,
      idempotencyKey: null,
      outputs: failure === null ? outputs : [],
      metrics: null,
      error: failure === null ? null : { ...failure, message: "failed on paper" },
      logs: null,
      costMicros: failure === null ? job.costMicros : 0,
      currency: "USD",
      createdAt: new Date(job.createdAt).toISOString(),
      completedAt: null,
    } as unknown as JobResult;
    return { ...result, ...this.#options.shows?.(result) };
  }

  async #poll(
    jobId: string,
    { submittedAt, planned }: PollOptions,
    talk: <T>(name: string, serve: () => T) => Promise<T>,
  ): Promise<Polled> {
    const next = (dueAt: number) => ({ dueAt, read: "job" as const, expectedAt: null });
    if (planned === null) return { type: "open", status: null, next: next(submittedAt + 3_000) };
    this.polls++;
    const { takesMs, rendersMs = 10_000 } = this.#options;
    const { body, createdAt } = this.jobs.get(jobId)!;
    const doneAt = takesMs === undefined ? submittedAt + rendersMs : createdAt + takesMs(body);
    if (this.now() < doneAt) {
      return talk("poll", () => ({ type: "open", status: null, next: next(this.now() + 5_000) }));
    }
    const job = await talk("result", () => this.#result(jobId));
    return { type: "finished", job, outcome: job.status === "COMPLETED" ? "completed" : "failed" };
  }

  /** Waits until a time; rejects if the signal is aborted. */
  #until(at: number, signal?: AbortSignal): Promise<void> {
    const { clock } = this;
    if (clock === null || at <= clock.now()) return Promise.resolve();
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const timer = Number.isFinite(at) ? clock.setTimer(at - clock.now(), resolve) : null;
      signal?.addEventListener(
        "abort",
        () => {
          timer?.cancel();
          reject(signal.reason);
        },
        { once: true },
      );
    });
  }

  async *#follow(
    jobId: string,
    talk: <T>(name: string, serve: () => T) => Promise<T>,
    signal?: AbortSignal,
  ): AsyncGenerator<FollowEvent> {
    const base = { jobId, progress: 0.5, estimatedCompletionAt: null, logs: [], logsNextCursor: null };
    yield await talk("stream", () => ({ type: "status" as const, status: { ...base, status: "IN_PROGRESS" } }));
    if (this.#options.sleep !== undefined) {
      const aborted = new Promise<never>((_, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
      await Promise.race([this.#options.sleep(), aborted]);
    }
    const { body, createdAt } = this.jobs.get(jobId)!;
    await this.#until(createdAt + (this.#options.takesMs?.(body) ?? 0), signal);
    const job = await talk("result", () => this.#result(jobId));
    yield { type: "finished", job, outcome: job.status === "COMPLETED" ? "completed" : "failed" } as FollowEvent;
  }
}

/** A refusal by the service. */
export function apiError(
  status: number,
  code: string,
  more: Partial<ConstructorParameters<typeof ApiError>[0]> = {},
  /** False if a proxy refused, not the service. */
  envelope = true,
): ApiError {
  const none = { retryable: false, retryAfterMs: null, param: null, details: null, replacedBy: null, billing: null };
  const context = { method: "POST", path: "/models/x", status, envelope, traceId: null };
  return new ApiError({ code, message: `refused on paper (${status})`, ...none, ...more }, context);
}

/** The error of a submit that was sent and never answered. */
export function unanswered(model: string, idempotencyKey = "k"): UnknownOutcomeError {
  const cause = new ConnectionError("the connection broke", { sent: true });
  return new UnknownOutcomeError({ model, idempotencyKey, cause });
}

/** Removes the signatures of upload handles: a request with a renewed handle is still the same request. */
function withoutHandles(body: string): string {
  return body.replace(/\?sig=\d+/g, "");
}

function listing<T>(items: readonly T[]) {
  return {
    async *[Symbol.asyncIterator]() {
      yield* items;
    },
  };
}
