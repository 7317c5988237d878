import { withRoutes } from "../../network/index.ts";
import type { StatusAnswer, VideoModel } from "../../plan/kinds/generate.ts";
import type { Json } from "../../plan/plan.ts";
import type { StatusReply } from "../../providers.ts";

/** Maximum size of a status response in bytes. A larger response is assumed to contain the media. */
const MOST_STATUS_BYTES = 1024 * 1024;

export interface Asked {
  readonly answer: StatusAnswer;
  readonly reply: StatusReply | null;
}

interface StatusRequest {
  readonly operation: Json | undefined;
  readonly abortSignal: AbortSignal;
}

export async function askStatus(model: VideoModel, request: StatusRequest): Promise<Asked> {
  const ask = (of: VideoModel) =>
    beforeAbort(
      withRoutes(() => of.doStatus!(request as never)),
      request.abortSignal,
    );
  const seen = new SeenRequests();
  const listening = listeningTo(model, request, seen);
  if (listening === null) return { answer: await ask(model), reply: null };
  try {
    const answer = await ask(listening);
    const reply = await beforeAbort(seen.reply(), request.abortSignal);
    if (!seen.isElsewhere) return { answer, reply };
  } catch (error) {
    if (seen.isAny || request.abortSignal.aborted) throw error;
  }
  return { answer: await ask(model), reply: null };
}

type Fetch = typeof globalThis.fetch;
interface Config {
  readonly fetch?: Fetch;
  readonly baseURL?: unknown;
}

/** Returns a proxy of the model that captures responses; null if its `fetch` cannot be replaced. */
function listeningTo(model: VideoModel, { operation }: StatusRequest, seen: SeenRequests): VideoModel | null {
  const { config } = model as { readonly config?: Config };
  if (typeof config !== "object" || config === null) return null;
  const { fetch: ownFetch } = config;
  if (ownFetch !== undefined && typeof ownFetch !== "function") return null;
  // If the model has no `fetch` option, its package guards against redirected status URLs in its own `fetch`. The proxy
  // replaces that `fetch`, so it checks the origin.
  const origin = ownFetch === undefined ? originNamed(config, operation) : null;
  const fetch: Fetch = (input, init) => seen.fetch(ownFetch ?? globalThis.fetch, { input, init, origin });
  return withField(model, "config", withField(config, "fetch", fetch));
}

function withField<T extends object>(of: T, name: string, value: unknown): T {
  return new Proxy(of, { get: (target, field, self) => (field === name ? value : Reflect.get(target, field, self)) });
}

interface Sent {
  readonly input: Parameters<Fetch>[0];
  readonly init: Parameters<Fetch>[1];
  readonly origin: string | null;
}

class SeenRequests {
  isElsewhere = false;
  #last: { readonly httpStatus: number | null; readonly text: Promise<string | null> } | null = null;

  get isAny(): boolean {
    return this.#last !== null && !this.isElsewhere;
  }

  async fetch(fetch: Fetch, { input, init, origin }: Sent): Promise<Response> {
    const url = new URL(input instanceof Request ? input.url : input);
    this.isElsewhere ||= origin !== null && url.origin !== origin;
    if (this.isElsewhere) throw new Error(`${url.origin} is not the origin that accepted the request`);
    this.#last = { httpStatus: null, text: Promise.resolve(null) };
    const response = await fetch(input, init);
    this.#last = { httpStatus: response.status, text: textOf(response.clone()).catch(() => null) };
    return response;
  }

  async reply(): Promise<StatusReply | null> {
    if (this.#last === null) return null;
    const { httpStatus, text } = this.#last;
    return { httpStatus, body: jsonOf(await text) };
  }
}

function originNamed({ baseURL }: Config, operation: unknown): string | null {
  const { submitUrl } = (operation ?? {}) as { readonly submitUrl?: unknown };
  const url = [submitUrl, baseURL].find((address) => typeof address === "string" && URL.canParse(address));
  return url === undefined ? null : new URL(url as string).origin;
}

async function textOf(copy: Response): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of copy.body ?? []) {
    sizeBytes += chunk.length;
    // Leaving the loop cancels this copy of the body.
    if (sizeBytes > MOST_STATUS_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function jsonOf(text: string | null): unknown {
  try {
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function beforeAbort<T>(asked: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([asked, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
