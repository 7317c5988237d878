import { onTestFinished } from "vitest";
import { type Client, createClient } from "../../../src/core/api/index.ts";
import { type LocalService, type LocalServiceOptions, startLocalService } from "../../../src/local-service/index.ts";
import { type Contract, contractOf, usualContract } from "./contract.ts";

/** Options that may change what a service says in its /openapi.json. */
const DESCRIBED = [
  "asOf",
  "brand",
  "catalog",
  "families",
  "openCatalog",
  "replay",
  "strict",
  "unquotableCost",
] as const;

const contracts = new WeakMap<LocalService, Contract>();

/**
 * Starts a service with the stub renderer, and closes it after the test. Every response that `ask` and `upload` receive is
 * checked against its own /openapi.json.
 */
export async function start(options: LocalServiceOptions = {}): Promise<LocalService> {
  const service = await startLocalService({
    renderer: "stub",
    rateLimit: { requests: 1e6, windowMs: 60_000 },
    ...options,
  });
  onTestFinished(() => service.close());
  const isUsual = DESCRIBED.every((name) => options[name] === undefined);
  contracts.set(service, await (isUsual ? usualContract : contractOf)(service.baseUrl));
  return service;
}

/** Starts a service whose clock stands still until the test advances it. */
export async function startHeld(options: LocalServiceOptions = {}): Promise<LocalService> {
  const service = await start(options);
  service.clock.manual();
  return service;
}

/** The contract in a service's /openapi.json, with the parts that were used so far. */
export function contractOfService(service: LocalService): Contract {
  const contract = contracts.get(service);
  if (!contract) throw new Error("only a service from start() has its contract read");
  return contract;
}

/** Our own client of a service, which is closed after the test. */
export function clientOf({ baseUrl, apiKey }: Pick<LocalService, "baseUrl" | "apiKey">): Client {
  const client = createClient({ baseUrl, apiKey });
  onTestFinished(() => client.close());
  return client;
}

// Test code reads bodies of many shapes; every assertion names what it expects of them.
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Body = any;

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export interface Ask {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** `<id>:<secret>` or a token; null for no credential. Default: the first key. */
  readonly credential?: string | null;
}

/** Sends a request below `/v3`, or below the origin if the path starts with `/_local`. */
export async function ask(service: LocalService, method: string, path: string, options: Ask = {}): Promise<Reply> {
  const url = path.startsWith("/_local") ? new URL(path, service.baseUrl) : service.baseUrl + path;
  const credential = options.credential === undefined ? service.apiKey : options.credential;
  const headers = {
    ...(credential === null ? {} : { Authorization: `Bearer ${credential}` }),
    ...(options.body === undefined ? {} : { "Content-Type": "application/json" }),
    ...options.headers,
  };
  const body = options.body === undefined ? {} : { body: JSON.stringify(options.body) };
  const response = await fetch(url, { method, headers, ...body });
  const text = await response.text();
  if (!path.startsWith("/_local")) {
    contracts.get(service)?.check({ method, path, status: response.status, headers: response.headers, text });
  }
  return { status: response.status, headers: response.headers, body: parse(text) };
}

function parse(text: string): Body {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export const get = (service: LocalService, path: string, options?: Ask) => ask(service, "GET", path, options);

export const read = async (service: LocalService, path: string, options?: Ask): Promise<Body> =>
  (await get(service, path, options)).body;

export const post = (service: LocalService, path: string, body: unknown, credential?: string | null) =>
  ask(service, "POST", path, { body, ...(credential !== undefined && { credential }) });

/** What a reply that refuses looks like, by the code of its error or by more of it. */
export const refusal = (status: number, error: string | object) => ({
  status,
  body: { error: typeof error === "string" ? { code: error } : error },
});

/** Asks what a job costs, which checks its input. */
export const estimate = (service: LocalService, model: string, input: unknown, credential?: string) =>
  post(service, `/models/${model}/estimate`, { input }, credential);

/** Sends a message to the language model. */
export const chat = (service: LocalService, content: string, more: object = {}) =>
  post(service, "/chat/completions", { model: "chat-1", messages: [{ role: "user", content }], ...more });

/** Submits a job and returns the acknowledgement; fails the test if the job is refused. */
export async function submit(service: LocalService, model: string, input: unknown, more: object = {}): Promise<Body> {
  const reply = await ask(service, "POST", `/models/${model}`, { body: { input, ...more } });
  if (reply.status !== 202) throw new Error(`refused: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

export interface Frame {
  readonly event: string;
  readonly id: string | null;
  readonly data: string;
}

/** Reads all frames of a stream until its end. */
export async function frames(
  service: LocalService,
  jobId: string,
  headers: Record<string, string> = {},
): Promise<Frame[]> {
  const { body } = await get(service, `/jobs/${jobId}/stream`, { headers });
  const text = typeof body === "string" ? body : "";
  return text.split("\n\n").flatMap((part) => {
    const fields = Object.fromEntries(part.split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2)));
    return fields["event"] ? [{ event: fields["event"], id: fields["id"] ?? null, data: fields["data"] ?? "" }] : [];
  });
}

/** Follows a job's stream to its end and returns the result envelope. */
export async function finished(service: LocalService, jobId: string): Promise<Body> {
  await frames(service, jobId);
  return (await get(service, `/jobs/${jobId}`)).body;
}

/** Submits a job, waits for its end, and returns the result envelope. */
export async function made(service: LocalService, model: string, input: unknown): Promise<Body> {
  return finished(service, (await submit(service, model, input)).job_id);
}

/** Uploads bytes in the same way as common clients: in a part `file` with the name `blob`. */
export async function upload(service: LocalService, bytes: Uint8Array, credential = service.apiKey): Promise<Reply> {
  const form = new FormData();
  form.append("file", new Blob([Uint8Array.from(bytes)]), "blob");
  const headers = { Authorization: `Key ${credential}` };
  const response = await fetch(`${service.baseUrl}/files`, { method: "POST", headers, body: form });
  const text = await response.text();
  const { status } = response;
  contracts.get(service)?.check({ method: "POST", path: "/files", status, headers: response.headers, text });
  return { status, headers: response.headers, body: parse(text) };
}

/** Uploads bytes and returns a media reference. */
export async function uploaded(service: LocalService, bytes: Uint8Array): Promise<{ source: "url"; url: string }> {
  return { source: "url", url: (await upload(service, bytes)).body.url };
}

/** Creates a credential for another workspace or owner. */
export async function key(service: LocalService, place: object): Promise<string> {
  return (await ask(service, "POST", "/_local/keys", { body: place })).body.credential;
}

/** Reads a path until its body satisfies the condition; the event loop decides how often. */
export async function until(service: LocalService, path: string, isDone: (body: Body) => boolean): Promise<Body> {
  for (;;) {
    const { body } = await get(service, path);
    if (isDone(body)) return body;
  }
}
