import { createServer, type IncomingMessage, type ServerResponse, request as send } from "node:http";
import type { AddressInfo } from "node:net";

/** What happens to a request on its way to an S3 server, or to its answer. */
export type S3Fault =
  /** The server's own refusal, which never reaches it. */
  | { readonly type: "refuse"; readonly status: number; readonly code: string }
  /** Cut before it reaches the server. */
  | { readonly type: "cut" }
  /** Half of its body reaches the server, then the connection breaks. */
  | { readonly type: "cut-body" }
  /** The server did it, and the answer is lost. */
  | { readonly type: "lose-answer" }
  /** Half of the answer's body comes, then the connection breaks. */
  | { readonly type: "cut-answer" }
  /** A byte of the answer's body is another one. */
  | { readonly type: "corrupt" }
  /** The answer names another entity tag than the server's. */
  | { readonly type: "wrong-tag" }
  /** The answer never comes. */
  | { readonly type: "stall" };

export interface S3Proxy {
  readonly endpoint: string;
  /** Every request, as `METHOD /path?query`. */
  readonly requests: readonly string[];
  /** Decides on each request; null lets it pass. */
  fault: (request: string) => S3Fault | null;
  close(): Promise<void>;
}

/** Passes requests on to an S3 server as they are, with their `Host`, which is part of the signature. */
export async function startS3Proxy(target: string): Promise<S3Proxy> {
  const requests: string[] = [];
  const stalled = new Set<ServerResponse>();
  const server = createServer((incoming, response) => {
    const request = `${incoming.method} ${incoming.url}`;
    requests.push(request);
    const fault = proxy.fault(request);
    response.on("error", () => {});
    if (fault?.type === "cut") return void incoming.socket.destroy();
    if (fault?.type === "stall") return void stalled.add(response);
    if (fault?.type === "refuse") return refuse(incoming, response, fault);
    void pass(incoming, response, fault);
  });
  const pass = async (incoming: IncomingMessage, response: ServerResponse, fault: S3Fault | null) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const body = Buffer.concat(chunks);
    const { hostname, port } = new URL(target);
    const outgoing = send({ hostname, port, method: incoming.method, path: incoming.url, headers: incoming.headers });
    outgoing.on("error", () => incoming.socket.destroy());
    if (fault?.type === "cut-body") {
      outgoing.write(body.subarray(0, body.length >> 1), () => {
        outgoing.destroy();
        incoming.socket.destroy();
      });
      return;
    }
    outgoing.end(body);
    outgoing.on(
      "response",
      (answer) => void answered(answer, incoming, response, fault).catch(() => response.destroy()),
    );
  };
  const proxy: S3Proxy = {
    endpoint: "",
    requests,
    fault: () => null,
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return Object.assign(proxy, { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

async function answered(
  answer: IncomingMessage,
  incoming: IncomingMessage,
  response: ServerResponse,
  fault: S3Fault | null,
) {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  if (fault?.type === "lose-answer") return void incoming.socket.destroy();
  const headers = { ...answer.headers };
  if (fault?.type === "wrong-tag" && headers.etag !== undefined) headers.etag = `"${"0".repeat(32)}"`;
  if (fault?.type === "corrupt" && body.length > 0) body[body.length >> 1]! ^= 0xff;
  response.writeHead(answer.statusCode!, headers);
  if (fault?.type !== "cut-answer") return void response.end(body);
  response.write(body.subarray(0, body.length >> 1), () => incoming.socket.destroy());
}

function refuse(
  incoming: IncomingMessage,
  response: ServerResponse,
  { status, code }: S3Fault & { readonly type: "refuse" },
) {
  incoming.resume().on("end", () => {
    response.writeHead(status, { "Content-Type": "application/xml" });
    response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`);
  });
}
