import { existsSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { greyPng, plainWav } from "../../../../src/core/kit/placeholder-media.ts";
import type { Absence } from "../../../support/absence.ts";
import { type Listening, listen } from "../../../support/listen.ts";
import { TINY_MP4 } from "../../../support/tiny-media.ts";
import { PACKAGES } from "./models.ts";

export const lacksPackages = (): Absence | null =>
  existsSync(join(PACKAGES, "fal"))
    ? null
    : { what: "packages of AI SDK", cure: "npm install --prefix test/core/providers --no-save --no-package-lock" };

/** The trouble of a request: a response without work, or a connection that breaks before or after the work. */
export type Trouble =
  | "cut before"
  | "cut after"
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: object };

export interface Received {
  readonly provider: string;
  readonly method: string;
  /** Path of the request; its first part is the intended host. */
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
}

/** A paid work. */
export interface Work {
  readonly provider: string;
  /** The prompt, or the text of speech. */
  readonly words: string;
}

interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly type?: string;
  readonly body: object | Uint8Array;
}

/** A server for the documented APIs of five providers, on one socket. */
export class Providers {
  readonly requests: Received[] = [];
  readonly works: Work[] = [];
  /** Chooses the trouble of each request for work or for its status. */
  trouble: (request: Received, asks: "work" | "status") => Trouble | null = () => null;
  /** A status or bytes to return in place of media. */
  media: number | Uint8Array | null = null;
  /** The failure with which operations end. */
  failure: string | null = null;
  /** Number of status requests for each operation, by id. */
  readonly #operations: number[] = [];
  /** Responses of the gateway by key; it executes a request with the same key only once. */
  readonly #keyed = new Map<string, Answer>();
  readonly #server = createServer((request, response) => void this.#receive(request, response));
  #listening: Listening | null = null;

  async open(): Promise<void> {
    this.#listening = await listen(this.#server);
  }

  close(): Promise<void> {
    return this.#listening!.close();
  }

  get origin(): string {
    return this.#listening!.origin;
  }

  reset(): void {
    this.requests.length = 0;
    this.works.length = 0;
    Object.assign(this, { trouble: () => null, media: null, failure: null });
  }

  /** Requests for work. */
  get asked(): readonly Received[] {
    return this.requests.filter(asksForWork);
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => {});
    const { method = "", url: path = "", headers } = request;
    const received = { provider: providerAt(path), method, path, headers };
    const body = await text(request).catch(() => null);
    // Half a request, of a process that is gone.
    if (body === null) return;
    this.requests.push(received);
    const asks = asksForWork(received) ? "work" : "status";
    const trouble = path.includes("/media/") ? null : this.trouble(received, asks);
    if (trouble === "cut before") return void request.socket.destroy();
    if (trouble !== null && trouble !== "cut after") return write(response, refusal(trouble));
    const answer = asks === "work" ? this.#work(received, body) : this.#look(received, body);
    if (trouble === "cut after") return void request.socket.destroy();
    write(response, answer);
  }

  #work(received: Received, body: string): Answer {
    const key = received.headers["idempotency-key"];
    const former = typeof key === "string" ? this.#keyed.get(key) : undefined;
    if (former !== undefined) return former;
    this.works.push({ provider: received.provider, words: wordsOf(JSON.parse(body)) });
    const answer = this.#made(received.path);
    if (typeof key === "string") this.#keyed.set(key, answer);
    return answer;
  }

  #made(path: string): Answer {
    const png = Buffer.from(this.#bytes(greyPng(64))).toString("base64");
    const wav = this.#bytes(plainWav(500));
    const providerMetadata = { gateway: { cost: "0.0123" } };
    if (path.startsWith("/fal.run/")) {
      const isSpeech = path.includes("speech");
      if (isSpeech) return { body: { audio: { url: "https://fal.run/media/voice.wav" } } };
      return { body: { images: [{ url: "https://fal.run/media/a.png" }] } };
    }
    if (path.startsWith("/queue.fal.run/")) {
      const id = this.#start();
      return { body: { request_id: `r${id}`, response_url: `https://queue.fal.run/fal-ai/kling/requests/r${id}` } };
    }
    if (path.includes("/predictions")) {
      const id = path.includes("film") ? `p${this.#start()}` : "still";
      const prediction = {
        ...{ id, metrics: {}, error: null, output: null as unknown },
        urls: { get: `https://api.replicate.com/v1/predictions/${id}` },
      };
      if (id !== "still") return { body: { ...prediction, status: "starting" } };
      const output = ["https://api.replicate.com/media/a.png"];
      return { body: { ...prediction, status: "succeeded", output } };
    }
    if (path.endsWith("/images/generations")) return { body: { created: 1, data: [{ b64_json: png }] } };
    if (path.endsWith("/audio/speech") || path.includes("text-to-speech")) return { type: "audio/wav", body: wav };
    if (path.endsWith("/image-model")) return { body: { images: [png], providerMetadata } };
    if (path.endsWith("/speech-model")) {
      return { body: { audio: Buffer.from(wav).toString("base64"), providerMetadata } };
    }
    if (path.includes("/video-model/start")) {
      return { body: { operation: { jobId: `j${this.#start()}` }, providerMetadata } };
    }
    return { status: 404, body: { detail: `nothing at ${path}` } };
  }

  #look({ path }: Received, body: string): Answer {
    if (path.includes("/media/")) {
      if (typeof this.media === "number") return { status: this.media, body: { detail: "not here" } };
      if (path.includes("film")) return { type: "video/mp4", body: this.#bytes(TINY_MP4) };
      if (path.includes("voice")) return { type: "audio/wav", body: this.#bytes(plainWav(500)) };
      return { type: "image/png", body: this.#bytes(greyPng(64)) };
    }
    const film = `${this.origin}/media/film.mp4`;
    const id = /[rpj](\d+)$/.exec(body === "" ? path : (JSON.parse(body).operation?.jobId ?? ""))?.[1];
    if (id === undefined || this.#operations[Number(id)] === undefined) {
      return { status: 404, body: { detail: `nothing at ${path}` } };
    }
    const isDone = ++this.#operations[Number(id)]! > 1;
    const { failure } = this;
    if (path.startsWith("/queue.fal.run/")) {
      if (!isDone) return { status: 400, body: { detail: "Request is still in progress" } };
      if (failure !== null) return { status: 422, body: { detail: failure } };
      return { body: { video: { url: film, content_type: "video/mp4" } } };
    }
    if (path.includes("/predictions")) {
      const urls = { get: `https://api.replicate.com/v1/predictions/p${id}` };
      const prediction = { id: `p${id}`, urls, metrics: {}, error: failure, output: failure === null ? film : null };
      if (!isDone) return { body: { ...prediction, error: null, output: null, status: "processing" } };
      return { body: { ...prediction, status: failure === null ? "succeeded" : "failed" } };
    }
    const providerMetadata = { gateway: { cost: "0.0123" } };
    if (!isDone) return { body: { status: "pending" } };
    if (failure !== null) return { body: { status: "error", error: failure, providerMetadata } };
    const videos = [{ type: "url", url: film, mediaType: "video/mp4" }];
    return { body: { status: "completed", videos, providerMetadata } };
  }

  #start(): number {
    return this.#operations.push(0) - 1;
  }

  #bytes(usual: Uint8Array): Uint8Array {
    return this.media instanceof Uint8Array ? this.media : usual;
  }
}

function asksForWork({ method, path }: Received): boolean {
  return method === "POST" && !path.includes("video-model/status");
}

/** The provider for the intended host of a request. */
function providerAt(path: string): string {
  const host = path.split("/")[1]!;
  return ["fal", "replicate", "openai", "elevenlabs"].find((name) => host.includes(name)) ?? "gateway";
}

function wordsOf(body: Readonly<Record<string, unknown>>): string {
  const { prompt, text: spoken, input } = body;
  if (typeof input === "object" && input !== null) return wordsOf(input as Readonly<Record<string, unknown>>);
  return String(prompt ?? spoken ?? input);
}

/** A refusal in which the packages of all five providers find their message. */
function refusal({ status, headers, body }: Exclude<Trouble, string>): Answer {
  const message = "it cannot be done";
  const usual = { detail: message, message, error: { message, type: "invalid_request_error" } };
  return { status, body: body ?? usual, ...(headers !== undefined && { headers }) };
}

function write(response: ServerResponse, { status = 200, type, headers, body }: Answer): void {
  const isBytes = body instanceof Uint8Array;
  response.writeHead(status, { "content-type": type ?? "application/json", ...headers });
  response.end(isBytes ? body : JSON.stringify(body));
}
