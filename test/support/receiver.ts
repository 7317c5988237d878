import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { listen } from "./listen.ts";

/** A received POST request. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Receiver extends AsyncDisposable {
  /** URL without a trailing slash. */
  readonly url: string;
  readonly received: readonly Received[];
  /** Resolves when this many requests have arrived. */
  arrived(count: number): Promise<readonly Received[]>;
}

/** Returns the status of a response, or writes the response itself. `index`: number of the request, from 0. */
export type Respond = (index: number, response: ServerResponse, post: Received) => number | undefined;

/** Starts a server on loopback that stores the requests it receives. */
export async function startReceiver(respond: Respond = () => 204): Promise<Receiver> {
  const received: Received[] = [];
  const waiting: (() => void)[] = [];
  const server = createServer(async (request, response) => {
    const post = {
      path: request.url ?? "",
      headers: request.headers,
      body: Buffer.concat(await request.toArray().catch(() => [])),
    };
    const status = respond(received.push(post) - 1, response, post);
    if (status !== undefined) response.writeHead(status, status === 302 ? { location: "/elsewhere" } : {}).end();
    for (const look of waiting.splice(0)) look();
  });
  const { origin, close } = await listen(server);
  return {
    url: origin,
    received,
    async arrived(count) {
      while (received.length < count) await new Promise<void>((resolve) => waiting.push(resolve));
      return received.slice(0, count);
    },
    [Symbol.asyncDispose]: close,
  };
}

/** The parsed body of a received request. */
export function jsonOf({ body }: Received): Readonly<Record<string, unknown>> {
  return JSON.parse(body.toString("utf8"));
}
