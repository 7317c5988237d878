import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import type { Hono } from "hono";
import { LocalServiceError, systemCode } from "../errors.ts";
import { requestId as newRequestId, traceId as newTraceId } from "../store/rows.ts";
import { errorAnswer } from "./call.ts";
import { refuse } from "./refusal.ts";

const QUIET = { onDefect: () => undefined, strict: true };

function malformedAnswer(what: string): { readonly text: string; readonly headers: Record<string, string> } {
  const traceId = newTraceId();
  const { body } = errorAnswer(refuse("INVALID_ARGUMENT", what), traceId, QUIET);
  const headers = { "Content-Type": "application/json", "X-Trace-Id": traceId, "X-Request-Id": newRequestId() };
  return { text: JSON.stringify(body), headers };
}

const NOT_HTTP = "The request is not valid HTTP.";

/** Returns the response that the HTTP adapter sends if it cannot build a URL from a request. */
function malformedResponse(): Response {
  const { text, headers } = malformedAnswer(NOT_HTTP);
  return new Response(text, { status: 400, headers });
}

function writeRaw(socket: Duplex): void {
  if (!socket.writable) return;
  const { text, headers } = malformedAnswer(NOT_HTTP);
  const named = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = ["HTTP/1.1 400 Bad Request", "Connection: close", ...named];
  socket.end(`${head.join("\r\n")}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}

function refuseExpectation(outgoing: ServerResponse): void {
  const { text, headers } = malformedAnswer("The value of the Expect header is not supported.");
  outgoing.writeHead(400, { ...headers, Connection: "close" }).end(text);
}

/** Answers malformed requests with the error envelope instead of Node's bare status lines. */
function answerMalformed(server: Server): void {
  server.on("clientError", (error: Error & { code?: string }, socket) => {
    if (error.code === "ECONNRESET") socket.destroy();
    else writeRaw(socket);
  });
  server.on("checkExpectation", (_incoming, outgoing) => refuseExpectation(outgoing));
}

interface Listening {
  readonly port: number;
  readonly origin: string;
  /** Stops the server. First waits briefly for unfinished requests. */
  close(): Promise<void>;
}

const DRAIN_MS = 1_000;

function refusedPort(error: unknown, port: number, host: string): unknown {
  const code = systemCode(error);
  if (code !== "EADDRINUSE" && code !== "EACCES") return error;
  const isInUse = code === "EADDRINUSE";
  const problem = isInUse
    ? "is in use by another program. Stop that program, or choose"
    : "cannot be used by this user. Choose";
  const message = `Port ${port} on ${host} ${problem} another port (0 chooses any free port).`;
  return new LocalServiceError("PORT_IN_USE", message, { cause: error });
}

export async function listen(
  app: Hono<{ Bindings: HttpBindings }>,
  { port, host }: { readonly port: number; readonly host: string },
): Promise<Listening> {
  const handle = app.fetch as Parameters<typeof getRequestListener>[0];
  const listener = getRequestListener(handle, { overrideGlobalObjects: false, errorHandler: malformedResponse });
  const server = createServer(listener);
  answerMalformed(server);
  // Uploads may be slow, but request headers must arrive in time.
  server.requestTimeout = 0;
  server.headersTimeout = 60_000;
  server.keepAliveTimeout = 30_000;
  try {
    await once(server.listen({ port, host, backlog: 4096 }), "listening");
  } catch (error) {
    throw refusedPort(error, port, host);
  }
  const address = server.address();
  const bound = typeof address === "object" && address !== null ? address.port : port;
  const reached = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  const name = reached.includes(":") ? `[${reached}]` : reached;
  return { port: bound, origin: `http://${name}:${bound}`, close: () => closeServer(server) };
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
    server.close(() => {
      clearTimeout(force);
      resolve();
    });
    server.closeIdleConnections();
  });
}
