import { createHash } from "node:crypto";
import { greyPng } from "../../../../src/core/kit/placeholder-media.ts";
import { BUILT_IN_MODELS } from "../../../../src/local-service/catalog/builtin/index.ts";
import { type Flags, flaggedIn } from "./flags.ts";
import { iso, json, refusal, type SimAnswer, usd } from "./sim-answer.ts";

/** A client's request. */
export interface SimRequest {
  readonly method: string;
  /** Path below `/v3`, without the query. */
  readonly path: string;
  readonly body: unknown;
  readonly authorization: string | null;
}

export interface PaidJob {
  readonly jobId: string;
  readonly model: string;
  readonly key: string | null;
  readonly createdAt: number;
  /** Time at which the job ends; Infinity if it does not end by itself. */
  readonly doneAt: number;
  readonly costMicros: number;
  /** Amount charged above the quote. */
  readonly excessMicros: number;
  readonly outputs: number;
  /** Failure of the job, which is then refunded; null if it succeeds. */
  readonly failure: { readonly code: string; readonly retryable: boolean } | null;
}

export interface ServiceOptions {
  readonly now: () => number;
  readonly secret: string;
  readonly balanceMicros: number;
  /** Delay in ms between the end of a job and its bill. */
  readonly billsLateMs: number;
  readonly says: string;
  /** Duration of jobs with a slow prompt in ms; Infinity if only the service ends them. */
  readonly slowMs: number;
  /** What moderation does with flagged prompts. */
  readonly flags: Flags;
}

export const PRICE_MICROS = 100_000;
const PICTURE = greyPng(512);
const RENDER_MS = 2_000;
/** How long after the submit outputs are accepted as inputs; later they can only be downloaded. */
const OUTPUT_LIFE_MS = 24 * 3_600_000;
const ERASED_AFTER_MS = 72 * 3_600_000;
const HANDLE_LIFE_MS = 3_600_000;
const KEY_LIFE_MS = 24 * 3_600_000;
const FLAGGED = { code: "MODERATION_FAILED", retryable: false } as const;
/** The prompt of a slow job. */
export const SLOW = "slow";
export const MEDIA_ORIGIN = "https://media.test";

/** An honest service in memory, without sockets. Troubles between it and its clients are simulated elsewhere. */
export class PaidService {
  readonly jobs = new Map<string, PaidJob>();
  readonly jobsByKey = new Map<string, string[]>();
  /** Total of all deposits. */
  #fundsMicros: number;
  /** Current prices relative to the initial prices. */
  priceFactor = 1;
  /** Costs of the next jobs as multiples of their quotes; the last value is also used for all later jobs. */
  nextCharges: number[] = [];
  /** Failures of the next jobs; null for success. */
  nextFailures: (PaidJob["failure"] | null)[] = [];
  /** Time at which the service ends all jobs that are still running. */
  endsAllAt = Number.POSITIVE_INFINITY;
  /** Expiry times of uploads, by handle. */
  readonly #handles = new Map<string, number>();
  readonly #options: ServiceOptions;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#fundsMicros = options.balanceMicros;
  }

  get balanceMicros(): number {
    return [...this.jobs.values()].reduce((left, job) => left - this.netMicros(job), this.#fundsMicros);
  }

  set balanceMicros(micros: number) {
    this.#fundsMicros += micros - this.balanceMicros;
  }

  netMicros(job: PaidJob): number {
    return job.failure !== null && this.#isDone(job) ? 0 : job.costMicros;
  }

  jobOfKey(key: string): PaidJob | null {
    const jobId = this.jobsByKey.get(key)?.at(-1);
    return jobId === undefined ? null : this.jobs.get(jobId)!;
  }

  handle(request: SimRequest): SimAnswer {
    const { method, path } = request;
    if (path.startsWith("/media/")) return this.#media(path);
    const secret = request.authorization?.split(":")[1];
    if (secret !== this.#options.secret) return refusal(401, "UNAUTHORIZED");
    const [, room, id, part] = path.split("/") as [string, string, string?, string?];
    if (room === "balance") return json(200, { balance: usd(this.balanceMicros), currency: "USD", spent: null });
    if (room === "files") return this.#upload();
    if (room === "chat") return this.#chat(request);
    if (room === "jobs" && id === undefined) return this.#list(null);
    if (room === "jobs") return this.#job(id!, part);
    if (room === "models" && part === "jobs") return this.#list(id!);
    const flagged = method === "POST" && flaggedIn((request.body as Partial<SubmitBody> | null)?.input);
    if (flagged && room === "models" && this.#options.flags === "refused") return refusal(422, FLAGGED.code);
    if (room === "models" && part === "estimate") {
      const gone = this.#goneMedia((request.body as SubmitBody).input);
      if (gone !== null) return gone;
      return json(200, { model: id, cost: usd(this.#price(request.body)), currency: "USD" });
    }
    if (room === "models" && method === "POST") return this.#submit(id!, request.body as SubmitBody);
    const model = BUILT_IN_MODELS.find(({ entry }) => entry.id === id);
    if (room === "models" && part === undefined && model !== undefined) return json(200, model.entry);
    return refusal(404, "NOT_FOUND");
  }

  static bytesOf(jobId: string, index: number): Buffer {
    return Buffer.concat([PICTURE, Buffer.from(`made by ${jobId}, output ${index}`)]);
  }

  static hashOf(jobId: string, index: number): string {
    return createHash("sha256").update(PaidService.bytesOf(jobId, index)).digest("hex");
  }

  #price(body: unknown): number {
    const { num_outputs: count = 1 } = (body as SubmitBody).input;
    return Math.round(PRICE_MICROS * this.priceFactor) * count;
  }

  #submit(model: string, body: SubmitBody): SimAnswer {
    const key = body.idempotency_key ?? null;
    const now = this.#options.now();
    const known = key === null ? null : this.jobOfKey(key);
    if (known !== null && now - known.createdAt <= KEY_LIFE_MS) return this.#ack(known, true);
    const gone = this.#goneMedia(body.input);
    if (gone !== null) return gone;
    const price = this.#price(body);
    if (price > this.balanceMicros) return this.unfunded(price);
    const costMicros = Math.round(price * this.charge());
    const isFlagged = this.#options.flags === "fails" && flaggedIn(body.input);
    const failure = isFlagged ? FLAGGED : (this.nextFailures.shift() ?? null);
    const excessMicros = Math.max(0, costMicros - price);
    const takesMs = JSON.stringify(body.input).includes(SLOW) ? Math.max(RENDER_MS, this.#options.slowMs) : RENDER_MS;
    const outputs = body.input.num_outputs ?? 1;
    const job = this.#make({ model, key, costMicros, excessMicros, outputs, failure }, takesMs);
    return this.#ack(job, false);
  }

  charge(): number {
    const [next = 1, ...later] = this.nextCharges;
    if (later.length > 0) this.nextCharges = later;
    return next;
  }

  unfunded(price: number): SimAnswer {
    const billing = {
      balance: usd(this.balanceMicros),
      required: usd(price),
      currency: "USD",
      funding_url: "https://fund.test",
    };
    return refusal(402, "INSUFFICIENT_BALANCE", { billing });
  }

  #make(made: Omit<PaidJob, "jobId" | "createdAt" | "doneAt">, takesMs = RENDER_MS): PaidJob {
    const now = this.#options.now();
    const jobId = `job_${this.jobs.size + 1}`;
    const job = { ...made, jobId, createdAt: now, doneAt: now + takesMs };
    this.jobs.set(jobId, job);
    if (made.key !== null) this.jobsByKey.set(made.key, [...(this.jobsByKey.get(made.key) ?? []), jobId]);
    return job;
  }

  #chat({ body }: SimRequest): SimAnswer {
    const costMicros = 1_000;
    if (costMicros > this.balanceMicros) return this.unfunded(costMicros);
    const { model } = body as { readonly model: string };
    const { jobId } = this.#make({ model, key: null, costMicros, excessMicros: 0, outputs: 0, failure: null });
    const choices = [{ index: 0, message: { role: "assistant", content: this.#options.says }, finish_reason: "stop" }];
    return json(200, { id: jobId, model, choices });
  }

  /** Accepts an upload for an hour. Its bytes are not needed for rendering. */
  #upload(): SimAnswer {
    const expiresAt = this.#options.now() + HANDLE_LIFE_MS;
    const url = `${MEDIA_ORIGIN}/uploads/${this.#handles.size + 1}?signature=s`;
    this.#handles.set(url, expiresAt);
    return json(201, { url, content_type: "image/png", expires_at: iso(expiresAt) });
  }

  /** Refuses expired media, with their places in the input. */
  #goneMedia(input: object): SimAnswer | null {
    const details = Object.entries(input).flatMap(([key, value]) => {
      const list: readonly unknown[] = Array.isArray(value) ? value : [value];
      return list.flatMap((one, index) => {
        const field = Array.isArray(value) ? `input.${key}[${index}]` : `input.${key}`;
        const reason = this.#whyGone(one as MediaReference | null);
        return reason === null ? [] : [{ field, message: `${field} is ${reason}`, reason }];
      });
    });
    return details.length === 0 ? null : refusal(400, "INVALID_ARGUMENT", { param: details[0]!.field, details });
  }

  #whyGone(media: MediaReference | null): "expired" | "not_found" | null {
    if (typeof media?.asset_id === "string") {
      const job = this.jobs.get(/^asset_(.*)_\d+$/.exec(media.asset_id)?.[1] ?? "");
      if (job === undefined) return "not_found";
      return this.#options.now() >= job.createdAt + OUTPUT_LIFE_MS ? "expired" : null;
    }
    if (typeof media?.url !== "string") return null;
    const expiresAt = this.#handles.get(media.url);
    return expiresAt === undefined ? "not_found" : expiresAt < this.#options.now() ? "expired" : null;
  }

  #ack(job: PaidJob, replayed: boolean): SimAnswer {
    const path = `/v3/jobs/${job.jobId}`;
    const body = {
      job_id: job.jobId,
      model: job.model,
      status: "IN_QUEUE",
      status_url: `${path}/status`,
      result_url: path,
    };
    return json(202, body, replayed ? { "x-idempotent-replayed": "true" } : {});
  }

  #job(id: string, part: string | undefined): SimAnswer {
    const job = this.jobs.get(id);
    if (job === undefined) return refusal(404, "NOT_FOUND");
    const base = { job_id: id, model: job.model, status: this.#status(job), created_at: iso(job.createdAt) };
    if (part === "status") {
      return json(200, {
        job_id: id,
        status: this.#status(job),
        progress: null,
        estimated_completion_at: Number.isFinite(job.doneAt) ? iso(job.doneAt) : null,
      });
    }
    if (!this.#isDone(job)) return json(200, { ...base, outputs: [], error: null });
    const cost = { ...this.#bill(job), completed_at: iso(this.#doneAt(job)) };
    if (job.failure !== null) {
      return json(200, { ...base, ...cost, outputs: [], error: { ...job.failure, message: "it failed" } });
    }
    const isGone = this.isGone(job);
    const outputs = Array.from({ length: job.outputs }, (_, index) => ({
      status: isGone ? "EXPIRED" : "COMPLETED",
      asset_id: isGone ? null : `asset_${id}_${index}`,
      url: isGone ? null : `${MEDIA_ORIGIN}/media/${id}/${index}?signature=s`,
      content_type: "image/png",
      // Some services do not say it.
      ...(this.#saysExpiry(job) && { expires_at: isGone ? null : iso(job.createdAt + OUTPUT_LIFE_MS) }),
    }));
    return json(200, { ...base, ...cost, outputs, error: null });
  }

  #bill(job: PaidJob): object {
    const isBilled = this.#options.now() >= this.#doneAt(job) + this.#options.billsLateMs;
    return isBilled ? { cost: usd(this.netMicros(job)), currency: "USD" } : {};
  }

  #list(model: string | null): SimAnswer {
    const jobs = [...this.jobs.values()].filter((job) => model === null || job.model === model).reverse();
    const data = jobs.map((job) => ({
      ...{ job_id: job.jobId, model: job.model, status: this.#status(job), created_at: iso(job.createdAt) },
      ...this.#bill(job),
    }));
    return json(200, { data, next_cursor: null });
  }

  #media(path: string): SimAnswer {
    const [, , jobId, index] = path.split("/");
    const job = this.jobs.get(jobId!);
    if (job === undefined || this.isGone(job)) return refusal(404, "NOT_FOUND");
    const bytes = PaidService.bytesOf(jobId!, Number(index)).toString("latin1");
    const headers = {
      "content-type": "image/png",
      "content-length": String(bytes.length),
      etag: `"${jobId}-${index}"`,
    };
    return { status: 200, headers, body: bytes };
  }

  #saysExpiry({ jobId }: PaidJob): boolean {
    return Number(jobId.slice("job_".length)) % 2 === 0;
  }

  /** True if the job's outputs are erased. */
  isGone(job: PaidJob): boolean {
    return this.#options.now() >= job.createdAt + OUTPUT_LIFE_MS + ERASED_AFTER_MS;
  }

  /** True if the job's outputs have expired, although they may still be there. */
  isOver(jobId: string): boolean {
    const job = this.jobs.get(jobId);
    return job !== undefined && this.#options.now() >= job.createdAt + OUTPUT_LIFE_MS;
  }

  #isDone(job: PaidJob): boolean {
    return this.#options.now() >= this.#doneAt(job);
  }

  #doneAt({ createdAt, doneAt }: PaidJob): number {
    return Math.min(doneAt, Math.max(createdAt + RENDER_MS, this.endsAllAt));
  }

  #status(job: PaidJob): string {
    if (!this.#isDone(job)) return "IN_PROGRESS";
    return job.failure === null ? "COMPLETED" : "FAILED";
  }
}

interface MediaReference {
  readonly asset_id?: unknown;
  readonly url?: unknown;
}

interface SubmitBody {
  readonly input: { readonly num_outputs?: number };
  readonly idempotency_key?: string;
}
