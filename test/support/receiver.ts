import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
  /** The same, parsed. */
  readonly json: Readonly<Record<string, unknown>>;
}

export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly Received[];
  /** Settles with the first that fits, of those that came and those that come. */
  first(fits: (one: Received) => boolean): Promise<Received>;
}

/** Takes posts on loopback; `answer` gives the status of each, by its number from 0. */
export async function startReceiver(answer: (index: number) => number = () => 204, port = 0): Promise<Receiver> {
  const received: Received[] = [];
  const waiting = new Set<() => void>();
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces);
    received.push({ headers: request.headers, body, json: JSON.parse(body.toString("utf8")) });
    response.writeHead(answer(received.length - 1), { location: "/elsewhere" }).end();
    for (const look of [...waiting]) look();
  });
  await new Promise<void>((listening) => server.listen(port, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/secret-part`,
    received,
    first: (fits) =>
      new Promise((found) => {
        const look = () => {
          const one = received.find(fits);
          if (one === undefined) return;
          waiting.delete(look);
          found(one);
        };
        waiting.add(look);
        look();
      }),
    [Symbol.asyncDispose]: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}
