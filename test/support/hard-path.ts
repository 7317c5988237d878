import { readFileSync } from "node:fs";
import { request as forward, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { Agent, buildConnector, type Dispatcher } from "undici";

const HOST = "studio.test";
const PORTAL = "https://portal.test/login";
const PAGE = "<html>Sign in to the network</html>";

/** The state of the path between a client and the service. `skewMs`: how far the `Date` of responses is off. */
export type PathState =
  | { readonly is: "clear"; readonly skewMs?: number }
  /** Another server responds in the service's place. */
  | { readonly is: "answered"; readonly status: number; readonly html: boolean }
  | { readonly is: "unknown name" | "other host" }
  | { readonly is: "wrong certificate" | "expired certificate" | "no handshake" }
  | { readonly is: "silence" | "half an answer" };

export interface HardPath {
  readonly baseUrl: string;
  state: PathState;
  /** Changes the state with the nth submit from now; the service still receives this submit. */
  breaksAt(submit: number, state: PathState, broken?: () => void): void;
  /** Creates a dispatcher for a client that uses this path's names and trusts its certificates. */
  dispatcher(): Dispatcher;
  close(): Promise<void>;
}

/** Creates a path to the service through a name, TLS and a proxy, each of which can break as when a client changes networks. */
export async function hardPath(serviceUrl: string): Promise<HardPath> {
  const certificates = certificatesOf();
  const sockets = new Set<Socket>();
  let state: PathState = { is: "clear" };
  let pending: { submits: number; readonly next: PathState; readonly broken: () => void } | null = null;
  const change = (next: PathState) => {
    state = next;
    const { key, cert } = certificates.shown(next);
    server.setSecureContext({ key, cert });
    // Who changes networks has no connections left.
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer(certificates.shown({ is: "clear" }), (incoming, outgoing) => {
    incoming.on("error", () => {});
    const isSubmit = incoming.method === "POST" && /\/v3\/models\/[^/]+$/.test(incoming.url ?? "");
    if (pending === null || !isSubmit || --pending.submits > 0) return meddle(incoming, outgoing, state);
    const { next, broken } = pending;
    pending = null;
    pass(incoming, () => {
      change(next);
      broken();
    });
  });
  const pass = passTo(new URL(serviceUrl).origin, () => baseOrigin);
  const meddle = meddleWith(pass);
  server.on("connection", (socket: Socket) => {
    if (state.is === "no handshake") return socket.destroy();
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
  });
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const baseOrigin = `https://${HOST}:${port}`;
  const connect = buildConnector({ ca: certificates.trusted, timeout: 2_000 });
  return {
    baseUrl: `${baseOrigin}/v3`,
    get state() {
      return state;
    },
    set state(next) {
      change(next);
    },
    breaksAt: (submits, next, broken = () => {}) => {
      pending = { submits, next, broken };
    },
    dispatcher: () =>
      new Agent({
        connect: (options, callback) => {
          if (state.is === "unknown name") return callback(nameNotFound(), null);
          connect({ ...options, servername: HOST, hostname: "127.0.0.1", host: `127.0.0.1:${port}` }, callback);
        },
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function nameNotFound(): Error {
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${HOST}`), { code: "ENOTFOUND" });
}

/** Reads certificates that were made for these tests, for names that do not exist. */
function certificatesOf() {
  const read = (name: string) => readFileSync(join(import.meta.dirname, "certificates", name), "utf8");
  const own = { key: read("studio.test.key"), cert: read("studio.test.crt") };
  const expired = { key: own.key, cert: read("studio.test.expired.crt") };
  const other = { key: read("portal.test.key"), cert: read("portal.test.crt") };
  const shown = ({ is }: PathState) =>
    is === "wrong certificate" ? other : is === "expired certificate" ? expired : own;
  return { trusted: [own.cert, expired.cert, other.cert], shown };
}

interface Passed {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

type Pass = (incoming: IncomingMessage, answered: (answer: Passed) => void) => void;

/** Forwards requests to the service, and replaces its address in responses by the path's address. */
function passTo(origin: string, own: () => string): Pass {
  return (incoming, answered) => {
    const headers = { ...incoming.headers, host: new URL(origin).host };
    const sent = forward(origin + (incoming.url ?? ""), { method: incoming.method, headers });
    sent.on("error", () => {});
    sent.on("response", async (answer) => {
      const whole = Buffer.concat(await answer.toArray());
      const isText = answer.headers["content-type"]?.startsWith("application/json") === true;
      const body = isText ? Buffer.from(whole.toString("utf8").replaceAll(origin, own())) : whole;
      answered({ status: answer.statusCode ?? 500, headers: answer.headers, body });
    });
    incoming.pipe(sent);
  };
}

function meddleWith(pass: Pass) {
  return (incoming: IncomingMessage, outgoing: ServerResponse, state: PathState): void => {
    switch (state.is) {
      case "clear":
        return pass(incoming, ({ status, headers, body }) => {
          const { "content-length": _, "transfer-encoding": __, date, ...others } = headers;
          const at = new Date(Date.parse(date ?? "") + (state.skewMs ?? 0)).toUTCString();
          outgoing.writeHead(status, { ...others, date: at, "content-length": body.length }).end(body);
        });
      case "half an answer":
        return pass(incoming, ({ status, headers, body }) => {
          outgoing.writeHead(status, { "content-type": headers["content-type"] ?? "", "content-length": body.length });
          outgoing.write(body.subarray(0, body.length >> 1), () => outgoing.destroy());
        });
      case "answered":
        incoming.resume();
        return void answerInPlace(outgoing, state);
      case "other host":
        incoming.resume();
        outgoing.writeHead(404, { "content-type": "application/json" });
        return void outgoing.end(JSON.stringify({ message: "no route" }));
      default:
        // Nobody ever answers.
        incoming.resume();
    }
  };
}

function answerInPlace(outgoing: ServerResponse, { status, html }: PathState & { readonly is: "answered" }): void {
  const moved = status >= 300 && status < 400 ? { location: PORTAL } : {};
  outgoing.writeHead(status, { ...moved, "content-type": html ? "text/html" : "text/plain" });
  outgoing.end(html ? PAGE : "");
}
