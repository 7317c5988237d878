import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import type { Polled, PollOptions } from "../../src/core/api/follow/poll-once.ts";
import {
  ApiError,
  type ChatRequest,
  type Client,
  type Clock,
  DownloadError,
  type FollowEvent,
  type JobResult,
  UnknownOutcomeError,
} from "../../src/core/api/index.ts";
import type { Catalog } from "../../src/core/catalog/index.ts";
import { PIXEL } from "./tiny-media.ts";

/** Size of a picture that it makes unless a test draws its own. */
export const OUTPUT_BYTES = PIXEL.length + 64;

/** A job as the paper service keeps it. */
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

/** Called at each boundary of a request; may throw, or never return. */
export type Boundary = (point: string) => Promise<void>;

export interface FakeServiceOptions {
  readonly catalog: Catalog;
  readonly balanceMicros?: number;
  readonly priceMicros?: (model: string, input: unknown) => number | null;
  /** What its job ids begin with, where a journal knows jobs of another one. Default `job_`. */
  readonly jobIds?: string;
  /** How long a job takes, waited for on `sleep`. */
  readonly sleep?: () => Promise<void>;
  /** How long a job takes that is polled, by `now`. Default 10 000. */
  readonly rendersMs?: number;
  /** How long the job of a body, or the answer to a question, takes by its clock, however it is asked for; Infinity: for ever. */
  readonly takesMs?: (body: string) => number;
  /** Thrown instead of accepting a submit; null accepts it. */
  readonly refuses?: (model: string, input: unknown) => Error | null;
  /** What a chat model says; what it throws is thrown instead of an answer. Default: an empty object. */
  readonly says?: (request: ChatRequest, nth: number) => string;
  readonly chatMicros?: number;
  /** Whether the same question gives something else each time. Default false. */
  readonly varies?: boolean;
  /** What a read of a job that is over shows instead of the truth. Default: the truth. */
  readonly shows?: (job: JobResult) => Partial<JobResult>;
  /** Since their submit, outputs are taken as inputs for so long, and erased some time later. Default: for ever. */
  readonly outputsLive?: {
    readonly forMs: number;
    readonly erasedAfterMs: number;
    /** Whether results say until when. */
    readonly isSaid: boolean;
  };
  readonly fails?: (model: string, body: string) => { readonly code: string; readonly retryable: boolean } | null;
}

/**
 * The service on paper: what it has accepted, charged and kept, without sockets or time. It outlives the engines of a
 * test, as the real one outlives a crashed process.
 */
export class FakePaidService {
  /** The clock of a service that nobody gave another one. */
  static readonly standingClock = () => Date.UTC(2030, 0, 1);
  readonly jobs = new Map<string, FakePaidJob>();
  readonly byKey = new Map<string, string>();
  readonly uploads = new Map<string, string>();
  /** Assets whose bytes it has no more. */
  readonly erased = new Set<string>();
  /** Assets that estimates and submits named although their time was over. */
  readonly askedTooLate: string[] = [];
  /** Chats that were answered and charged, by job id. */
  readonly chats = new Map<string, { readonly request: ChatRequest; readonly costMicros: number }>();
  readonly #options: FakeServiceOptions;
  /** What is downloaded for an output's text: by default a picture with the text behind its end. */
  picture: (bytes: string) => Uint8Array = (bytes) => Buffer.concat([PIXEL, Buffer.from(bytes)]);
  balanceMicros: number;
  submits = 0;
  polls = 0;
  balanceReads = 0;
  now: () => number = FakePaidService.standingClock;
  /** What jobs take their time by. */
  clock: Clock | null = null;

  constructor(options: FakeServiceOptions) {
    this.#options = options;
    this.balanceMicros = options.balanceMicros ?? 1_000_000_000;
  }

  get chargedMicros(): number {
    return [...this.jobs.values()].reduce((sum, job) => sum + job.costMicros, 0);
  }

  get chatChargedMicros(): number {
    return [...this.chats.values()].reduce((sum, chat) => sum + chat.costMicros, 0);
  }

  /** A client of it. `boundary` is passed before sending, after the service did its part, and before the answer is read. */
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
    const found = this.#options.catalog.model(id);
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

  /** Rejects once it is broken off. */
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

/** An answer of the service that refuses. */
export function apiError(
  status: number,
  code: string,
  more: Partial<ConstructorParameters<typeof ApiError>[0]> = {},
  /** False: a proxy said it, not the service. */
  envelope = true,
): ApiError {
  const none = { retryable: false, retryAfterMs: null, param: null, details: null, replacedBy: null, billing: null };
  const context = { method: "POST", path: "/models/x", status, envelope, traceId: null };
  return new ApiError({ code, message: `refused on paper (${status})`, ...none, ...more }, context);
}

/** A handle is renewed at will; what was asked for stays the same. */
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
