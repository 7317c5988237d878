import { createServer, request as forward } from "node:http";
import { connect } from "node:net";
import { listen } from "./listen.ts";

export interface ForwardProxy {
  /** Address of the proxy, for an environment variable. */
  readonly url: string;
  /** Every request, as `CONNECT host:port` or `METHOD http://host:port/path`. */
  readonly asked: readonly string[];
  /** Status with which every request is refused; null lets requests pass. */
  refusal: number | null;
  close(): Promise<void>;
}

/** Starts a company's proxy. It resolves names that this machine cannot: names that end in `.test` are ports of loopback. */
export async function forwardProxy({ login }: { readonly login?: string } = {}): Promise<ForwardProxy> {
  const asked: string[] = [];
  const expected = login === undefined ? undefined : `Basic ${Buffer.from(login).toString("base64")}`;
  const refused = (authorization: string | undefined) => proxy.refusal ?? (authorization === expected ? null : 407);
  const server = createServer((incoming, outgoing) => {
    const { method = "", url = "", headers } = incoming;
    asked.push(`${method} ${url}`);
    const status = refused(headers["proxy-authorization"]);
    if (status !== null) return void outgoing.writeHead(status, { "content-type": "text/html" }).end("<html>no</html>");
    const target = new URL(url);
    const sent = forward(
      { host: "127.0.0.1", port: target.port, path: target.pathname + target.search, method, headers },
      (answer) => answer.pipe(outgoing.writeHead(answer.statusCode ?? 502, answer.headers)),
    );
    sent.on("error", () => outgoing.destroy());
    incoming.pipe(sent);
  });
  server.on("connect", ({ url = "", headers }, socket, head) => {
    asked.push(`CONNECT ${url}`);
    socket.on("error", () => {});
    const status = refused(headers["proxy-authorization"]);
    if (status !== null) return void socket.end(`HTTP/1.1 ${status} No\r\n\r\n`);
    const tunnel = connect(Number(url.split(":").at(-1)), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      tunnel.write(head);
      tunnel.pipe(socket).pipe(tunnel);
    });
    tunnel.on("error", () => socket.destroy());
    socket.on("close", () => tunnel.destroy());
  });
  const listening = await listen(server);
  const proxy: ForwardProxy = {
    url: listening.origin.replace("://", login === undefined ? "://" : `://${login}@`),
    asked,
    refusal: null,
    close: listening.close,
  };
  return proxy;
}
