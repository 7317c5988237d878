import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type Listening, listen } from "./listen.ts";

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export type Reply = (request: SeenRequest, response: ServerResponse) => void | Promise<void>;

/** A server on a real socket; the test defines every response. */
export interface FakeService extends Listening {
  readonly baseUrl: string;
  readonly seen: readonly SeenRequest[];
}

/** Answers each request with the next reply, and all further requests with the last reply. */
export async function fakeService(...replies: readonly Reply[]): Promise<FakeService> {
  const seen: SeenRequest[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const body = Buffer.concat(chunks).toString("utf8");
    const entry: SeenRequest = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body,
    };
    seen.push(entry);
    const reply = replies[Math.min(seen.length, replies.length) - 1];
    await reply?.(entry, response);
  });
  const listening = await listen(server);
  return Object.assign(listening, { baseUrl: `${listening.origin}/v3`, seen });
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Reply =>
  (_request, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };

export const failure = (
  status: number,
  code: string,
  extra: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Reply =>
  json(
    status,
    { error: { code, message: "said by the test", ...extra }, trace_id: "0123456789abcdef0123456789abcdef" },
    headers,
  );

/** Receives the request and breaks the connection without a response. */
export const hangUp: Reply = (_request, response) => {
  response.destroy();
};

/** Receives the request and never responds. */
export const silence: Reply = () => {};

export const ack = (
  status = "IN_QUEUE",
  extra: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Reply =>
  json(
    202,
    {
      job_id: "job_1",
      model: "resolved-model",
      status,
      status_url: "/v3/jobs/job_1/status",
      result_url: "/v3/jobs/job_1",
      estimated_completion_at: null,
      ...extra,
    },
    { location: "/v3/jobs/job_1", ...headers },
  );

export const outputItem = (extra: Record<string, unknown> = {}) => ({
  status: "COMPLETED",
  asset_id: "asset_1",
  voice_id: null,
  url: null,
  content_type: "image/png",
  width: 64,
  height: 64,
  duration_ms: null,
  fps: null,
  error: null,
  ...extra,
});

export const jobBody = (status: string, extra: Record<string, unknown> = {}) => ({
  job_id: "job_1",
  model: "resolved-model",
  status,
  outputs: status === "COMPLETED" ? [outputItem()] : [],
  error: null,
  created_at: "2030-01-01T00:00:00Z",
  ...extra,
});

export const statusBody = (status: string, extra: Record<string, unknown> = {}) => ({
  job_id: "job_1",
  status,
  progress: null,
  estimated_completion_at: null,
  ...extra,
});
