import type { Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { requestId as newRequestId, traceId as newTraceId } from "../ids.ts";
import { errorAnswer } from "./error-answer.ts";
import { refuse } from "./refusal.ts";

const QUIET = { onDefect: () => undefined, strict: true };

/** The envelope for a request that is too broken to reach the API. */
function malformedAnswer(what: string): { readonly text: string; readonly headers: Record<string, string> } {
  const traceId = newTraceId();
  const { body } = errorAnswer(refuse("INVALID_ARGUMENT", what), traceId, QUIET);
  const headers = { "Content-Type": "application/json", "X-Trace-Id": traceId, "X-Request-Id": newRequestId() };
  return { text: JSON.stringify(body), headers };
}

const NOT_HTTP = "The request is not valid HTTP.";

/** For the HTTP adapter: a request whose line or headers make no URL. */
export function malformedResponse(): Response {
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
  const { text, headers } = malformedAnswer("The Expect header asks for something unknown.");
  outgoing.writeHead(400, { ...headers, Connection: "close" }).end(text);
}

/** Answers what never becomes a request with the envelope too, instead of Node's bare status lines. */
export function answerMalformed(server: Server): void {
  server.on("clientError", (error: Error & { code?: string }, socket) => {
    if (error.code === "ECONNRESET") socket.destroy();
    else writeRaw(socket);
  });
  server.on("checkExpectation", (_incoming, outgoing) => refuseExpectation(outgoing));
}
