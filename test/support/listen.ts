import { once } from "node:events";
import type { AddressInfo, Server, Socket } from "node:net";

/** A server on a port of its own. */
export interface Listening {
  readonly port: number;
  readonly origin: string;
  readonly openSockets: number;
  /** Breaks what is under way. */
  close(): Promise<void>;
}

/** Listens on loopback. */
export async function listen(server: Server): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    get openSockets() {
      return sockets.size;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
