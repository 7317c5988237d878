import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { afterEach } from "vitest";

/** One POST that arrived. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Receiver {
  /** Without a slash at the end. */
  readonly url: string;
  readonly received: readonly Received[];
  /** Resolves when so many have arrived. */
  arrived(count: number): Promise<readonly Received[]>;
}

/** Answers with a status, or by hand. The number of the POST counts from 0. */
export type Respond = (index: number, response: ServerResponse, post: Received) => number | undefined;

const open: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((close) => close()));
});

/** A server on loopback that keeps what it is sent; it is closed after the test. */
export async function receiver(respond: Respond = () => 200): Promise<Receiver> {
  const received: Received[] = [];
  let waiting: (() => void)[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const post = { path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks) };
      const index = received.push(post) - 1;
      const status = respond(index, response, post);
      if (status !== undefined) response.writeHead(status).end();
      for (const tell of waiting.splice(0)) tell();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  open.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    waiting = [];
  });
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    async arrived(count) {
      while (received.length < count) await new Promise<void>((resolve) => waiting.push(resolve));
      return received.slice(0, count);
    },
  };
}
