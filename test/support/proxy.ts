import { createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import { listen } from "./listen.ts";

/** A fault of a request on its way to a service, or of its response. */
export type Fault =
  /** The proxy refuses the request without the service or, with `after`, once the service has done its work. */
  | { readonly type: "refuse"; readonly status: number; readonly code: string; readonly after?: true }
  /** The connection breaks before the request reaches the service. */
  | { readonly type: "cut" }
  /** Half of the request body reaches the service, then the connection breaks. */
  | { readonly type: "cut-body" }
  /** The service does its work, and the response is lost. */
  | { readonly type: "lose-answer" }
  /** The beginning of the response body arrives, then the connection breaks. */
  | { readonly type: "cut-answer" }
  /** A byte of the response body is changed. */
  | { readonly type: "corrupt" }
  /** The response has a different entity tag. */
  | { readonly type: "wrong-tag" }
  /** The response never arrives. */
  | { readonly type: "stall" }
  /** Changes the response in place. */
  | { readonly type: "rewrite"; readonly rewrite: (answer: PassingAnswer) => void };

/** A response on its way to the client. */
export interface PassingAnswer {
  readonly method: string;
  /** Path below the base URL, such as `/jobs/job_1`. */
  readonly path: string;
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  /** The parsed body; undefined if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests change whatever a service may say.
  body: any;
}

export interface HttpProxy {
  /** Address for clients of an S3 server. */
  readonly endpoint: string;
  /** Address for clients of a v3 service. */
  readonly baseUrl: string;
  /** Every request, as `METHOD /path?query`. */
  readonly requests: readonly string[];
  readonly openSockets: number;
  /** Chooses the fault of each request; null lets the request pass. */
  fault: (request: string) => Fault | null;
  close(): Promise<void>;
}

interface ProxyOptions {
  readonly fault?: HttpProxy["fault"];
  /** Protocol. With `s3`, requests keep the proxy's `Host`, which is signed, and refusals are XML. Default `v3`. */
  readonly speaks?: "v3" | "s3";
  /** API key in place of the client's key. */
  readonly apiKey?: string;
}

/** Starts a proxy that forwards requests to a service, with the faults that `fault` chooses. */
export async function startProxy(target: string, options: ProxyOptions = {}): Promise<HttpProxy> {
  const { fault = () => null, speaks = "v3", apiKey } = options;
  const { origin, host } = new URL(target);
  const requests: string[] = [];
  const server = createServer((incoming, outgoing) => {
    const { method = "", url = "" } = incoming;
    requests.push(`${method} ${url}`);
    const found = proxy.fault(`${method} ${url}`);
    incoming.on("error", () => {});
    outgoing.on("error", () => {});
    if (found?.type === "cut") return void incoming.socket.destroy();
    if (found?.type === "stall") return;
    if (found?.type === "refuse" && !found.after) {
      return void incoming.resume().on("end", () => refuse(outgoing, found, speaks));
    }
    const headers = { ...incoming.headers };
    if (speaks === "v3") headers.host = host;
    if (apiKey !== undefined) headers.authorization = `Bearer ${apiKey}`;
    const sent = forward(origin + url, { method, headers });
    sent.on("error", () => incoming.socket.destroy());
    if (found?.type === "cut-body") {
      return void incoming.toArray().then(
        (chunks: Buffer[]) => {
          const body = Buffer.concat(chunks);
          sent.write(body.subarray(0, body.length >> 1), () => {
            sent.destroy();
            incoming.socket.destroy();
          });
        },
        () => void sent.destroy(),
      );
    }
    sent.on("response", (answer) => {
      answer.on("error", () => {});
      answered(found, { incoming, outgoing, answer, speaks });
    });
    incoming.pipe(sent);
  });
  const listening = await listen(server);
  const proxy: HttpProxy = {
    endpoint: listening.origin,
    baseUrl: `${listening.origin}/v3`,
    requests,
    get openSockets() {
      return listening.openSockets;
    },
    fault,
    close: listening.close,
  };
  return proxy;
}

interface Passing {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly answer: IncomingMessage;
  readonly speaks: "v3" | "s3";
}

function answered(fault: Fault | null, passing: Passing): void {
  const { incoming, outgoing, answer, speaks } = passing;
  const status = answer.statusCode ?? 500;
  switch (fault?.type) {
    case "lose-answer":
      return void answer.resume().on("end", () => incoming.socket.destroy());
    case "refuse":
      return void answer.resume().on("end", () => refuse(outgoing, fault, speaks));
    case "cut-answer":
      outgoing.writeHead(status, answer.headers);
      answer.once("data", (chunk: Buffer) => {
        outgoing.write(chunk.subarray(0, Math.ceil(chunk.length / 2)), () => setImmediate(() => outgoing.destroy()));
        answer.destroy();
      });
      return void answer.once("end", () => outgoing.destroy());
    case "corrupt":
    case "wrong-tag":
    case "rewrite":
      return void changed(fault, passing).catch(() => outgoing.destroy());
    default:
      outgoing.on("close", () => answer.destroy());
      outgoing.writeHead(status, answer.headers);
      answer.pipe(outgoing);
  }
}

async function changed(
  fault: Fault & { readonly type: "corrupt" | "wrong-tag" | "rewrite" },
  { incoming, outgoing, answer }: Passing,
): Promise<void> {
  let bytes = Buffer.concat(await answer.toArray());
  const { "content-length": _, "transfer-encoding": __, ...headers } = answer.headers;
  const status = answer.statusCode ?? 500;
  if (fault.type === "wrong-tag" && headers.etag !== undefined) headers.etag = `"${"0".repeat(32)}"`;
  if (fault.type === "corrupt" && bytes.length > 0) bytes[bytes.length >> 1]! ^= 0xff;
  if (fault.type === "rewrite") {
    const isJson = headers["content-type"]?.startsWith("application/json") === true && bytes.length > 0;
    const body = isJson ? JSON.parse(bytes.toString()) : undefined;
    const path = (incoming.url ?? "").replace(/^\/v3/, "");
    const said: PassingAnswer = { method: incoming.method ?? "", path, status, headers, body };
    fault.rewrite(said);
    if (isJson) bytes = Buffer.from(JSON.stringify(said.body));
  }
  outgoing.writeHead(status, { ...headers, "content-length": bytes.length }).end(bytes);
}

function refuse(
  outgoing: ServerResponse,
  { status, code }: Fault & { readonly type: "refuse" },
  speaks: "v3" | "s3",
): void {
  if (code === "") return void outgoing.writeHead(status, { "content-type": "text/html" }).end("<html>No</html>");
  if (speaks === "s3") {
    outgoing.writeHead(status, { "content-type": "application/xml" });
    return void outgoing.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`);
  }
  outgoing.writeHead(status, { "content-type": "application/json", "retry-after": "1" });
  const error = { code, message: "made by the proxy", retryable: true, retry_after: 1 };
  outgoing.end(JSON.stringify({ error, trace_id: null }));
}

/** Troubles between a client and the service; `after` means that the service did its work. */
const TROUBLES = {
  none: null,
  "cut before": { type: "cut" },
  "cut after": { type: "lose-answer" },
  "502 before": { type: "refuse", status: 502, code: "" },
  "502 after": { type: "refuse", status: 502, code: "", after: true },
  "429": { type: "refuse", status: 429, code: "RESOURCE_EXHAUSTED" },
  "503": { type: "refuse", status: 503, code: "UNAVAILABLE" },
  "half an answer": { type: "cut-answer" },
} as const satisfies Readonly<Record<string, Fault | null>>;
export type Trouble = keyof typeof TROUBLES;
export const troubles = Object.keys(TROUBLES) as readonly Trouble[];

/** Starts a proxy with troubles that `next` chooses by name. */
export function chaosProxy(target: string, next: (method: string, path: string) => Trouble): Promise<HttpProxy> {
  return startProxy(target, {
    fault: (request) => {
      const [method = "", path = ""] = request.split(" ");
      return TROUBLES[next(method, path)];
    },
  });
}
