import { once } from "node:events";
import type { AddressInfo, Server, Socket } from "node:net";

/** A server that listens on its own port. */
export interface Listening {
  readonly port: number;
  readonly origin: string;
  readonly openSockets: number;
  /** Closes the server and breaks open connections. */
  close(): Promise<void>;
}

/** Makes a server listen on a free port of loopback. */
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
