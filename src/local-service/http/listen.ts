import { createServer, type Server } from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import type { Hono } from "hono";
import { LocalServiceError, systemCode } from "../errors.ts";
import { answerMalformed, malformedResponse } from "./malformed.ts";

export interface Listening {
  readonly port: number;
  /** Without a slash at the end. */
  readonly origin: string;
  /** Stops accepting, and ends what is still open. */
  close(): Promise<void>;
}

/** Requests still under way at the close get so long to end by themselves. */
const DRAIN_MS = 1_000;

function listenOn(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host, backlog: 4096 }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function refusedPort(error: unknown, port: number, host: string): unknown {
  const code = systemCode(error);
  if (code !== "EADDRINUSE" && code !== "EACCES") return error;
  const problem = code === "EADDRINUSE" ? "is in use by another program" : "may not be used by this user";
  const message = `Port ${port} on ${host} ${problem}. Stop that program, or choose another port (0 takes any free one).`;
  return new LocalServiceError("PORT_IN_USE", message, { cause: error });
}

/** @throws LocalServiceError `PORT_IN_USE` */
export async function listen(
  app: Hono<{ Bindings: HttpBindings }>,
  { port, host }: { readonly port: number; readonly host: string },
): Promise<Listening> {
  const handle = app.fetch as Parameters<typeof getRequestListener>[0];
  const listener = getRequestListener(handle, { overrideGlobalObjects: false, errorHandler: malformedResponse });
  const server = createServer(listener);
  answerMalformed(server);
  // Uploads may take their time; a head may not.
  server.requestTimeout = 0;
  server.headersTimeout = 60_000;
  server.keepAliveTimeout = 30_000;
  try {
    await listenOn(server, port, host);
  } catch (error) {
    throw refusedPort(error, port, host);
  }
  const address = server.address();
  const bound = typeof address === "object" && address !== null ? address.port : port;
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
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
