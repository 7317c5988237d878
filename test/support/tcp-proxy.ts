import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/**
 * What happens to data from a client. `cut`: it never arrives, and the connection breaks; `answer lost`: it arrives, and
 * the connection breaks before the response; `late`: the connection breaks, and the data arrives some time later.
 */
export type Fate = "pass" | "cut" | "answer lost" | "late";

export interface TcpProxy {
  readonly port: number;
  /** Breaks all connections, and allows no new connections until `restore`. */
  sever(): void;
  restore(): void;
  close(): Promise<void>;
}

/** Forwards connections to a local port. `fateOf` decides what happens to each piece of data from a client. */
export async function tcpProxy(target: number, fateOf: (piece: Buffer) => Fate, lateMs = 60): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let severed = false;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
    return socket;
  };
  const server = createServer((client) => {
    keep(client);
    if (severed) return client.destroy();
    const upstream = keep(connect(target, "127.0.0.1"));
    let lost = false;
    upstream.on("data", (answer) => {
      if (!lost) return void client.write(answer);
      client.destroy();
      upstream.destroy();
    });
    upstream.on("close", () => client.destroy());
    client.on("close", () => !lost && upstream.end());
    client.on("data", (piece) => {
      const fate = lost ? "cut" : fateOf(piece);
      if (fate === "pass") return void upstream.write(piece);
      lost = true;
      if (fate === "answer lost") return void upstream.write(piece);
      client.destroy();
      if (fate === "cut") return void upstream.destroy();
      setTimeout(() => upstream.write(piece), lateMs);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    sever() {
      severed = true;
      for (const socket of sockets) socket.destroy();
    },
    restore() {
      severed = false;
    },
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}
