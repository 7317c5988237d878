import { createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What may go wrong between a client and the service; `after` means that the service did its work. */
export const troubles = [
  "none",
  "cut before",
  "cut after",
  "502 before",
  "502 after",
  "429",
  "503",
  "half an answer",
] as const;
export type Trouble = (typeof troubles)[number];

export interface ChaosProxy {
  readonly baseUrl: string;
  readonly openSockets: number;
  close(): Promise<void>;
}

/** Passes requests on to a service, and asks for every one of them what shall go wrong with it. */
export async function chaosProxy(target: string, next: (method: string, path: string) => Trouble): Promise<ChaosProxy> {
  const sockets = new Set<unknown>();
  const server = createServer((incoming, outgoing) => {
    incoming.on("error", () => {});
    meddle(new URL(target).origin, incoming, outgoing, next(incoming.method ?? "", incoming.url ?? ""));
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v3`,
    get openSockets() {
      return sockets.size;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function meddle(origin: string, incoming: IncomingMessage, outgoing: ServerResponse, trouble: Trouble): void {
  switch (trouble) {
    case "cut before":
      return void outgoing.destroy();
    case "502 before":
      return badGateway(incoming, outgoing);
    case "429":
      return refuse(incoming, outgoing, 429, "RESOURCE_EXHAUSTED");
    case "503":
      return refuse(incoming, outgoing, 503, "UNAVAILABLE");
    case "cut after":
      return pass(origin, incoming, (answer) => answer.resume().on("end", () => outgoing.destroy()));
    case "502 after":
      return pass(origin, incoming, (answer) => answer.resume().on("end", () => badGateway(incoming, outgoing)));
    case "half an answer":
      return pass(origin, incoming, (answer) => half(answer, outgoing));
    case "none":
      return pass(origin, incoming, (answer) => {
        outgoing.on("close", () => answer.destroy());
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      });
  }
}

function pass(origin: string, incoming: IncomingMessage, answered: (answer: IncomingMessage) => void): void {
  const sent = forward(origin + (incoming.url ?? ""), {
    method: incoming.method,
    headers: { ...incoming.headers, host: new URL(origin).host },
  });
  sent.on("response", (answer) => {
    answer.on("error", () => {});
    answered(answer);
  });
  sent.on("error", () => {});
  incoming.pipe(sent);
}

function badGateway(incoming: IncomingMessage, outgoing: ServerResponse): void {
  incoming.resume();
  outgoing.writeHead(502, { "content-type": "text/html" }).end("<html>bad gateway</html>");
}

function refuse(incoming: IncomingMessage, outgoing: ServerResponse, status: number, code: string): void {
  incoming.resume();
  outgoing.writeHead(status, { "content-type": "application/json", "retry-after": "1" });
  outgoing.end(
    JSON.stringify({ error: { code, message: "made by the proxy", retryable: true, retry_after: 1 }, trace_id: null }),
  );
}

/** The first piece of the answer, without its end. */
function half(answer: IncomingMessage, outgoing: ServerResponse): void {
  outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
  answer.once("data", (chunk: Buffer) => {
    outgoing.write(chunk.subarray(0, Math.ceil(chunk.length / 2)), () => setImmediate(() => outgoing.destroy()));
    answer.destroy();
  });
  answer.once("end", () => outgoing.destroy());
}
