import { Dispatcher } from "undici";
import type { Answer, RequestKind } from "../../src/core/answers.ts";
import { builtInCatalog } from "./built-in-catalog.ts";
import { PIXEL } from "./tiny-media.ts";

/** A response that the test returns in place of the service's own response. */
export interface Fault {
  readonly kind: RequestKind;
  readonly answer: Answer;
  /** True if the service does its work before it returns this response. */
  readonly afterWork: boolean;
  /** Number of requests with this response; later requests are served normally. Default: all requests. */
  readonly times?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

interface FakeJob {
  readonly id: string;
  readonly key: string;
  readonly model: string;
  reads: number;
}

interface Asked {
  readonly method: string;
  readonly origin: string;
  readonly path: string;
  readonly body: string;
}

interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

type Served = Reply | { readonly sent: boolean; readonly code: string | null } | "silence";

export const PRICE_MICROS = 100_000;

/** A v3 service behind an undici dispatcher, without a socket. It stores idempotency keys, and returns faults on demand. */
export class AnsweringService extends Dispatcher {
  readonly jobs = new Map<string, FakeJob>();
  readonly chats: string[] = [];
  readonly #byKey = new Map<string, FakeJob>();
  /** Number of requests by kind. */
  readonly counts: Partial<Record<RequestKind, number>> = {};
  fault: Fault | null = null;
  /** True to lose the responses to submits. */
  losesAcks = false;
  /** True if every media URL has expired, so that clients read the job for a new URL. */
  mediaLapses = false;
  #told = 0;

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.#serve(options, handler).catch((error: Error) => handler.onResponseError?.(new Controller(handler), error));
    return true;
  }

  async #serve(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): Promise<void> {
    const asked = await askedOf(options);
    const kind = this.#kindOf(asked);
    if (kind !== null) this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    const served = this.#answer(asked, kind);
    const controller = new Controller(handler);
    if (served === "silence") return handler.onRequestStart?.(controller, {});
    if ("sent" in served) {
      if (served.sent) handler.onRequestStart?.(controller, {});
      const error = Object.assign(new Error("said by the test"), served.code !== null && { code: served.code });
      return handler.onResponseError?.(controller, error);
    }
    handler.onRequestStart?.(controller, {});
    if (controller.aborted) return;
    handler.onResponseStart?.(controller, served.status, { date: new Date().toUTCString(), ...served.headers }, "");
    if (!controller.aborted) handler.onResponseData?.(controller, Buffer.from(served.body));
    if (!controller.aborted) handler.onResponseEnd?.(controller, {});
  }

  #answer(asked: Asked, kind: RequestKind | null): Served {
    const { fault } = this;
    if (this.losesAcks && kind === "submit" && (fault?.kind !== "submit" || this.jobs.size === 0)) {
      this.#own(asked);
      return { sent: true, code: "ECONNRESET" };
    }
    if (fault === null || fault.kind !== kind || this.#told >= (fault.times ?? Number.POSITIVE_INFINITY))
      return this.#own(asked);
    this.#told++;
    if (fault.afterWork) this.#own(asked);
    // What bounds the silence of a media server and of a chat is long, and real: told as a break.
    const isLong = asked.origin !== ORIGIN || kind === "chat";
    const served = wrong(isLong && fault.answer === "timeout" ? "lost" : fault.answer);
    return typeof served === "object" && "status" in served && fault.headers !== undefined
      ? { ...served, headers: { ...served.headers, ...fault.headers } }
      : served;
  }

  /** The kind of a request; null for requests that tests never answer with a fault. */
  #kindOf({ method, origin, path, body }: Asked): RequestKind | null {
    if (origin !== ORIGIN) return this.mediaLapses ? null : "download";
    if (path === "/v3/files") return this.#isSubmitting() ? "upload" : null;
    if (path === "/v3/chat/completions") return "chat";
    if (path === "/v3/balance") return "balance";
    if (path.endsWith("/estimate"))
      return body.includes("asset_id") || this.fault?.kind === "upload" ? "estimate" : null;
    if (method === "POST") return "submit";
    if (path.startsWith("/v3/models/")) return path.endsWith(LATE_MODEL) ? "catalog" : null;
    const job = this.jobs.get(path.split("/")[3] ?? "");
    if (job === undefined) return null;
    if (this.fault?.kind === "reuse") return job.reads > 0 ? "reuse" : null;
    if (this.mediaLapses && job.reads > 0) return "download";
    return job.reads > 0 ? "settle" : "follow";
  }

  /** True if uploads now belong to a submit; earlier uploads belong to estimates. */
  #isSubmitting(): boolean {
    return this.losesAcks ? this.jobs.size > 0 : (this.counts.estimate ?? 0) > 0;
  }

  #own({ method, origin, path, body }: Asked): Reply {
    if (origin !== ORIGIN) {
      if (this.mediaLapses) return { status: 404, body: "" };
      return {
        status: 200,
        headers: { "content-type": "image/png", "content-length": `${PIXEL.length}` },
        body: PIXEL,
      };
    }
    const parts = path.split("?")[0]!.split("/").slice(2);
    if (path === "/v3/balance") return json(200, { balance: 100, currency: "USD", spent: null });
    if (path === "/v3/files") {
      const lapsing = new Date(Date.now() + 1000).toISOString();
      return json(201, { url: `${ORIGIN}/files/1?sig=1`, content_type: "image/png", expires_at: lapsing });
    }
    if (path === "/v3/chat/completions") return this.#chat();
    if (parts[0] === "models" && parts.length === 1) return json(200, { data: [], next_cursor: null });
    if (parts[0] === "models" && method === "GET") return model(parts[1]!);
    if (parts[2] === "estimate") return json(200, { model: parts[1], cost: PRICE_MICROS / 1e6, currency: "USD" });
    if (parts[0] === "models") return this.#submit(parts[1]!, JSON.parse(body));
    return this.#read(parts[1]!, parts[2]);
  }

  #submit(model: string, { idempotency_key: key }: { readonly idempotency_key: string }): Reply {
    const known = this.#byKey.get(key);
    const job = known ?? { id: `job_${this.jobs.size + 1}`, key, model, reads: 0 };
    this.#byKey.set(key, job);
    this.jobs.set(job.id, job);
    const result_url = `/v3/jobs/${job.id}`;
    const ack = { job_id: job.id, model, status: "IN_QUEUE", status_url: `${result_url}/status`, result_url };
    const headers: Record<string, string> = known === undefined ? {} : { "x-idempotent-replayed": "true" };
    return { ...json(202, ack), headers: { ...JSON_TYPE, ...headers } };
  }

  #chat(): Reply {
    const id = `job_chat_${this.chats.length + 1}`;
    this.chats.push(id);
    const message = { role: "assistant", content: "said" };
    return json(200, { id, model: "chat-1", choices: [{ index: 0, message, finish_reason: "stop" }] });
  }

  #read(id: string, part: string | undefined): Reply {
    if (this.chats.includes(id))
      return json(200, { job_id: id, model: "chat-1", status: "COMPLETED", outputs: [], cost: 0.001 });
    const job = this.jobs.get(id)!;
    if (part === "status") return json(200, { job_id: id, status: "COMPLETED", progress: 1 });
    const isBilled = job.reads++ > 0 || !this.billsLate;
    const output = {
      ...{ status: "COMPLETED", asset_id: `asset_${id}`, voice_id: null, url: `https://media.test/${id}.png` },
      ...{ content_type: "image/png", width: 1, height: 1, duration_ms: null, fps: null, error: null },
    };
    const bill = isBilled ? { cost: PRICE_MICROS / 1e6, currency: "USD" } : {};
    return json(200, { job_id: id, model: job.model, status: "COMPLETED", outputs: [output], error: null, ...bill });
  }

  /** True if the first read of a job does not contain its cost. */
  billsLate = false;
}

export const ORIGIN = "https://service.test";
/** A model that is requested only while a run is in progress. */
export const LATE_MODEL = "image-late";
const JSON_TYPE = { "content-type": "application/json" };

function json(status: number, body: unknown): Reply {
  return { status, headers: JSON_TYPE, body: JSON.stringify(body) };
}

function model(id: string): Reply {
  const found = builtInCatalog().model(id === LATE_MODEL ? "image-1" : id)!;
  const { modality, name, inputSchema, outputSchema } = found;
  return json(200, { id, modality, name, description: null, input_schema: inputSchema, output_schema: outputSchema });
}

async function askedOf({ method, origin, path, body }: Dispatcher.DispatchOptions): Promise<Asked> {
  let text = "";
  if (typeof body === "string") text = body;
  else if (body != null) for await (const chunk of body as AsyncIterable<Buffer>) text += chunk.toString("latin1");
  return { method, origin: String(origin), path, body: text };
}

/** The controller that undici passes to a handler, which can abort a response. */
class Controller implements Dispatcher.DispatchController {
  readonly #handler: Dispatcher.DispatchHandler;
  aborted = false;
  paused = false;
  reason: Error | null = null;
  rawHeaders = null;
  rawTrailers = null;

  constructor(handler: Dispatcher.DispatchHandler) {
    this.#handler = handler;
  }

  abort(reason: Error): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.#handler.onResponseError?.(this, reason);
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }
}

const codes: Readonly<Record<string, string>> = {
  ...{ "400": "INVALID_ARGUMENT", "401": "UNAUTHORIZED", "402": "INSUFFICIENT_BALANCE", "403": "PERMISSION_DENIED" },
  ...{ "404": "NOT_FOUND", "410": "GONE", "422": "MODERATION_FAILED", "409": "ALREADY_EXISTS" },
  ...{ "429": "RESOURCE_EXHAUSTED", "499": "CANCELLED", "500": "INTERNAL", "503": "UNAVAILABLE" },
};

function spoken(status: number, more: object = {}): Reply {
  return json(status, {
    error: { code: codes[status] ?? "UNKNOWN", message: "said by the test", ...more },
    trace_id: null,
  });
}

function bare(status: number, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, headers: { "content-type": "text/html", ...headers }, body: "<html>Welcome to the hotel</html>" };
}

function silent(code: string | null, sent = false): Served {
  return { sent, code };
}

const gone = { details: [{ field: "input.images[0]", message: "gone", reason: "expired", allowed: null }] };
const short = { billing: { balance: 0, required: 0.1, currency: "USD", funding_url: "https://pay.test" } };
const soon = { retryable: true };

/** A real response of each kind. */
const wrongAnswers: { readonly [A in Answer]: Served } = {
  "400": spoken(400),
  "400 media": spoken(400, gone),
  "401": spoken(401),
  "402": spoken(402, short),
  "402 retryable": { ...spoken(402, { ...short, retryable: true }), headers: { ...JSON_TYPE, "retry-after": "2" } },
  "403": spoken(403),
  "404": spoken(404),
  "410": spoken(410),
  "422": spoken(422),
  "409 retryable": spoken(409, soon),
  "409": spoken(409),
  "429": { ...spoken(429, soon), headers: { ...JSON_TYPE, "retry-after": "400" } },
  "4xx retryable": spoken(408, soon),
  "4xx": spoken(499),
  "503": spoken(503, soon),
  "5xx": spoken(500),
  "3xx": bare(302, { location: "https://portal.test/login?token=SECRET" }),
  "2xx no JSON": bare(200),
  "2xx other": json(200, { hello: "world" }),
  "no envelope 407": bare(407),
  "no envelope 408": bare(408),
  "no envelope 429": bare(429, { "retry-after": "400" }),
  "no envelope 4xx": bare(404),
  "no envelope 511": bare(511),
  "no envelope 5xx": bare(502),
  dns: silent("ENOTFOUND"),
  refused: silent("ECONNREFUSED"),
  network: silent("ENETUNREACH"),
  tls: silent("CERT_HAS_EXPIRED"),
  proxy: silent("UND_ERR_PRX_CONN"),
  "connect timeout": silent("UND_ERR_CONNECT_TIMEOUT"),
  unsent: silent("UND_ERR_SOCKET"),
  lost: silent("ECONNRESET", true),
  timeout: "silence",
};

function wrong(answer: Answer): Served {
  return wrongAnswers[answer];
}
