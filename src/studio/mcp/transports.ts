import {
  createServer as createHttpServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { Transform } from "node:stream";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { sendResponse } from "../../core/kit/http.ts";
import { allowedHosts, listen, shut } from "../dashboard/index.ts";
import { isSame, Refusal, readJson, requestOf } from "../served/index.ts";
import { createServer, malformedLine } from "./server.ts";
import type { AgentSession } from "./session.ts";

const HOST = "127.0.0.1";
const PATH = "/mcp";
/**
 * The accepted HTTP methods. All others are refused before a `Request` is created, because `Request` throws for some of
 * them, such as TRACE.
 */
const METHODS = new Set(["POST", "GET", "DELETE"]);
const BOUNDS = { mostBytes: 1024 * 1024, instead: "pass large files by URL" };

export interface McpHttp {
  readonly url: string;
  close(): Promise<void>;
}

export async function startHttp(
  session: AgentSession,
  options: { readonly port: number; readonly token: string },
): Promise<McpHttp> {
  const server = createHttpServer();
  const port = await listen(server, options.port, HOST);
  const hosts = allowedHosts({ host: HOST, port });
  server.on("request", (incoming, response) => {
    const answered = (async () => {
      checkRequest(incoming, hosts, options.token);
      return answer(session, incoming, response);
    })();
    void answered
      .catch((error: unknown) => {
        if (error instanceof Refusal) return refused(error);
        session.options.log(`mcp: ${String(error)}`);
        return refused({ status: 500, message: "Something went wrong on this server." });
      })
      .then((found) => sendResponse(response, found));
  });
  return { url: `http://${hosts[0]}${PATH}`, close: () => shut(server) };
}

const NO_TOKEN = "The token is missing or invalid. Send this server's token in the header Authorization: Bearer …";

function checkRequest({ method = "", headers, url }: IncomingMessage, hosts: readonly string[], token: string): void {
  const host = headers.host?.toLowerCase() ?? "";
  if (!hosts.includes(host)) throw new Refusal(403, "HOST", "This server does not accept this host name.");
  if (headers.origin !== undefined && headers.origin !== `http://${host}`)
    throw new Refusal(403, "ORIGIN", "Web pages from other sites cannot send this request.");
  if (!isSame(bearerOf(headers), token)) throw new Refusal(401, "UNAUTHORIZED", NO_TOKEN);
  if (url !== PATH) throw new Refusal(404, "NOT_FOUND", `Not found; the only path is ${PATH}.`);
  if (!METHODS.has(method)) throw new Refusal(405, "METHOD", "Send messages with POST.");
}

function bearerOf({ authorization }: IncomingHttpHeaders): string {
  return /^Bearer (\S+)$/i.exec(authorization ?? "")?.[1] ?? "";
}

function refused({ status, message }: Pick<Refusal, "status" | "message">): Response {
  const body = { jsonrpc: "2.0", error: { code: -32_000, message }, id: null };
  // The body of a refused request is not read.
  const headers = { Connection: "close", ...(status === 401 && { "WWW-Authenticate": "Bearer" }) };
  return Response.json(body, { status, headers });
}

/** Answers a request with a new server, so that no state is kept for agents that have disconnected. */
async function answer(session: AgentSession, incoming: IncomingMessage, response: ServerResponse): Promise<Response> {
  const request = requestOf(incoming, `http://${incoming.headers.host}${PATH}`);
  // Accepts one message per request, because messages in a list would run in parallel.
  const parsedBody = incoming.method === "POST" ? await readJson(request, BOUNDS) : undefined;
  const transport = new WebStandardStreamableHTTPServerTransport();
  const server = createServer(session);
  response.on("close", () => void server.close());
  // The transport's own type lacks the undefined that its interface allows.
  await server.connect(transport as Parameters<typeof server.connect>[0]);
  return transport.handleRequest(request, { parsedBody });
}

const MOST_BYTES = 10 * 1024 * 1024;

export async function serveStdio(session: AgentSession, signal: AbortSignal): Promise<void> {
  const server = createServer(session);
  const say = (answer: object) => void process.stdout.write(`${JSON.stringify(answer)}\n`);
  const lines = boundedLines(
    MOST_BYTES,
    (message) => say({ jsonrpc: "2.0", id: null, error: { code: -32_600, message } }),
    (line) => {
      const answer = malformedLine(line.toString("utf8"));
      if (answer !== null) say(answer);
      return answer === null;
    },
  );
  const closed = new Promise<void>((done) => {
    server.onclose = done;
    lines.once("end", done);
    process.stdin.once("close", () => lines.end());
    signal.addEventListener("abort", () => done(), { once: true });
  });
  process.stdin.pipe(lines);
  await server.connect(new StdioServerTransport(lines, process.stdout, { maxBufferSize: 2 * MOST_BYTES }));
  if (!signal.aborted) await closed;
  process.stdin.unpipe(lines).pause();
  await server.close();
}

/** Returns a stream that drops lines that are too long or invalid, because they would shut down the transport. */
export function boundedLines(
  mostBytes: number,
  refuse: (message: string) => void,
  isMessage: (line: Buffer) => boolean = () => true,
): Transform {
  let pieces: Buffer[] = [];
  let sizeBytes = 0;
  const add = (piece: Buffer) => {
    sizeBytes += piece.length;
    if (sizeBytes <= mostBytes) pieces.push(piece);
    else pieces = [];
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let from = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
        add(chunk.subarray(from, end + 1));
        if (sizeBytes > mostBytes)
          refuse(`A message of ${sizeBytes} bytes is too long; the limit is ${mostBytes} bytes.`);
        else {
          const line = Buffer.concat(pieces);
          if (isMessage(line)) this.push(line);
        }
        [pieces, sizeBytes, from] = [[], 0, end + 1];
      }
      add(chunk.subarray(from));
      done();
    },
  });
}
