import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import {
  codeOf,
  createOutbound,
  type OutboundOptions,
  type Outcome,
  type Resolve,
} from "../../../src/local-service/outbound/outbound.ts";
import { receiver } from "../support/receiver.ts";

const message = { headers: { "Content-Type": "text/plain" }, body: Buffer.from("hello") };
const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function outbound(options: Partial<OutboundOptions> = {}) {
  const made = createOutbound({ allowLoopback: true, ownPort: () => 1, timeoutMs: 5_000, ...options });
  closing.push(made.close);
  return made;
}

/** A server on loopback below HTTP. */
async function rawServer(onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    onConnection(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}

const portOf = (url: string) => new URL(url).port;

test("a host's name is looked up once, and the connection goes to the address that was checked [N14]", async () => {
  const hook = await receiver();
  const answers = ["127.0.0.1", "10.0.0.1"];
  const asked: string[] = [];
  const resolve: Resolve = async (host) => {
    asked.push(host);
    return [{ address: answers[asked.length - 1] ?? "10.0.0.1", family: 4 }];
  };
  const url = `http://rebinding.test:${portOf(hook.url)}/x`;
  const out = outbound({ resolve });
  expect(await out.post(url, message)).toEqual({ is: "answered", status: 200 });
  expect(asked).toEqual(["rebinding.test"]);
  expect(hook.received[0]).toMatchObject({ path: "/x", headers: { host: `rebinding.test:${portOf(hook.url)}` } });
  expect(await out.post(url, message)).toEqual({ is: "blocked" });
  expect(hook.received).toHaveLength(1);
});

test("one forbidden address among a host's addresses is enough to refuse it", async () => {
  const hook = await receiver();
  const resolve: Resolve = async () => [
    { address: "127.0.0.1", family: 4 },
    { address: "fd00::1", family: 6 },
  ];
  const sent = await outbound({ resolve }).post(`http://mixed.test:${portOf(hook.url)}/`, message);
  expect([sent, hook.received]).toEqual([{ is: "blocked" }, []]);
});

test.each([
  ["decimal", "http://2130706433"],
  ["hexadecimal", "http://0x7f000001"],
  ["octal", "http://0177.0.0.1"],
  ["short", "http://127.1"],
  ["IPv6 around IPv4", "http://[::ffff:127.0.0.1]"],
  ["a name", "http://localhost"],
])("loopback is refused in every disguise when it is not allowed: %s", async (_name, origin) => {
  const hook = await receiver();
  const out = outbound({ allowLoopback: false });
  expect(await out.post(`${origin}:${portOf(hook.url)}/`, message)).toEqual({ is: "blocked" });
  expect(hook.received).toHaveLength(0);
});

test.each([
  "http://10.0.0.1/",
  "http://192.168.0.1:8080/hook",
  "https://100.64.0.1/",
  "http://169.254.169.254/latest/meta-data",
  "http://[fd00:ec2::254]/",
  "http://[fe80::1]/",
  "http://[::ffff:10.0.0.1]/",
  "ftp://127.0.0.1/",
  "file:///etc/passwd",
  "not a url",
])("%s is refused although loopback is allowed", async (url) => {
  expect(await outbound().post(url, message)).toEqual({ is: "blocked" });
});

test("the service does not post to itself", async () => {
  const hook = await receiver();
  const out = outbound({ ownPort: () => Number(portOf(hook.url)) });
  expect(await out.post(`${hook.url}/_local/wallet`, message)).toEqual({ is: "blocked" });
  expect(hook.received).toHaveLength(0);
});

test("a redirect is an answer, and is not followed [N7 WH14]", async () => {
  const elsewhere = await receiver();
  const hook = await receiver((_index, response) => {
    response.writeHead(302, { Location: elsewhere.url }).end();
    return undefined;
  });
  expect(await outbound().post(hook.url, message)).toEqual({ is: "answered", status: 302 });
  expect(elsewhere.received).toHaveLength(0);
});

test("a host that does not exist, and a port where nobody listens or speaks HTTP, are unreachable", async () => {
  const resolve: Resolve = () => Promise.reject(new Error("ENOTFOUND secret.internal"));
  expect(await outbound({ resolve }).post("http://nobody.test/", message)).toEqual({ is: "unreachable" });
  for (const end of [(socket: Socket) => socket.destroy(), (socket: Socket) => socket.end("SSH-2.0-nothing\r\n")]) {
    const port = await rawServer(end);
    expect(await outbound().post(`http://127.0.0.1:${port}/`, message)).toEqual({ is: "unreachable" });
  }
});

test("an answer's head that drips in, and a name lookup that never ends, are cut at the time limit", async () => {
  const port = await rawServer((socket) => void socket.write("HTTP/1.1 200 OK\r\nX-A"));
  expect(await outbound({ timeoutMs: 60 }).post(`http://127.0.0.1:${port}/`, message)).toEqual({ is: "late" });
  const resolve: Resolve = () => new Promise(() => undefined);
  expect(await outbound({ timeoutMs: 40, resolve }).post("http://slow.test/", message)).toEqual({ is: "late" });
});

test("an endless answer is not read to its end", async () => {
  const closed = Promise.withResolvers<void>();
  const port = await rawServer((socket) => {
    socket.on("close", () => closed.resolve());
    socket.write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n");
    const chunk = Buffer.alloc(16_384, "x");
    const more = () => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on("drain", more);
    more();
  });
  expect(await outbound().post(`http://127.0.0.1:${port}/`, message)).toEqual({ is: "answered", status: 200 });
  await closed.promise;
});

test("closing cuts what is under way, and sends nothing more", async () => {
  const hook = await receiver(() => undefined);
  const out = outbound();
  const sending = out.post(hook.url, message);
  await hook.arrived(1);
  await out.close();
  expect(await sending).toBeNull();
  expect(await out.post(hook.url, message)).toBeNull();
  expect(hook.received).toHaveLength(1);
});

test.each<[string | null, readonly (number | Exclude<Outcome["is"], "answered">)[]]>([
  [null, [200, 204, 299]],
  ["UNAVAILABLE", [301, 500, 503, "unreachable"]],
  ["INVALID_ARGUMENT", [400, 410]],
  ["UNAUTHORIZED", [401]],
  ["PERMISSION_DENIED", [403]],
  ["NOT_FOUND", [404]],
  ["RESOURCE_EXHAUSTED", [429]],
  ["UNKNOWN", [600]],
  ["DEADLINE_EXCEEDED", ["late"]],
  ["FAILED_PRECONDITION", ["blocked"]],
  ["INTERNAL", ["no-body"]],
])("%s is the code of %j", (code, ends) => {
  for (const end of ends)
    expect(codeOf(typeof end === "number" ? { is: "answered", status: end } : { is: end })).toBe(code);
});
