import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { createWebhookHandler } from "../../../src/core/api/index.ts";
import { BODY_LIMITS, boundedNodeHandler } from "../../../src/fleet/worker/node-handler.ts";
import { isFull } from "../../support/sample.ts";
import { signedHeaders, signingKey } from "../../support/signed-webhook.ts";

/** A full check sends bodies of the real size. */
const MIB = isFull ? 1024 * 1024 : 64 * 1024;
const SMALL_LIMITS = { mostBytes: 16 * MIB, mostBytesHeld: 64 * MIB };
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function serve(handle: (request: Request) => Promise<Response>, limits = SMALL_LIMITS): Promise<number> {
  const handler = boundedNodeHandler(handle, limits);
  const server = createServer((incoming, response) => void handler(incoming, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  ends.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

const echo = async (given: Request) =>
  new Response(await given.text(), {
    status: 202,
    headers: { "x-asked": `${given.method} ${new URL(given.url).pathname}` },
  });

/** A post whose body is sent by hand; settles with the status once one comes. */
function begin(port: number, headers: Record<string, string> = {}) {
  const sending = request({ port, host: "127.0.0.1", method: "POST", path: "/hook", headers });
  const status = new Promise<number | undefined>((resolve) => {
    sending.on("response", (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sending.on("error", () => resolve(undefined));
  });
  ends.push(() => sending.destroy());
  return { sending, status };
}

test("hands over method, path, headers and body, and brings the answer back", async () => {
  const port = await serve(echo);
  const answer = await fetch(`http://127.0.0.1:${port}/hook?a=1`, { method: "POST", body: "told" });
  expect([answer.status, answer.headers.get("x-asked"), await answer.text()]).toEqual([202, "POST /hook", "told"]);
});

test("a handler that throws is answered 500, so that the sender tries again", async () => {
  const port = await serve(async () => {
    throw new Error("down");
  });
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(500);
});

test("a body beyond 16 MiB is refused before all of it came", async () => {
  const port = await serve(echo);
  const { sending, status } = begin(port);
  sending.write(Buffer.alloc(17 * MIB));
  expect(await status).toBe(413);
});

test("a body may have 16 MiB, and all that are held at once 64 MiB", () => {
  expect(BODY_LIMITS).toEqual({ mostBytes: 16 * 1024 ** 2, mostBytesHeld: 64 * 1024 ** 2 });
});

test("unfinished bodies hold 64 MiB at most: one more is refused for now, and room comes back", async () => {
  const port = await serve(echo);
  const posts = Array.from({ length: 5 }, () => begin(port));
  for (const { sending } of posts) sending.write(Buffer.alloc(15 * MIB));
  const [status, refused] = await Promise.race(posts.map(async ({ status }, index) => [await status, index] as const));
  expect(status).toBe(503);
  const others = posts.filter((_, index) => index !== refused);
  // Let go in the middle, and at the end.
  others[0]!.sending.destroy();
  for (const { sending } of others.slice(1)) sending.end();
  expect(await Promise.all(others.slice(1).map(({ status }) => status))).toEqual([202, 202, 202]);
  const again = () => fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: Buffer.alloc(15 * MIB) });
  await expect.poll(async () => (await again()).status).toBe(202);
});

test("a handler that refuses by the headers is answered for before the body has come", async () => {
  const handle = createWebhookHandler({ publicKey: Buffer.alloc(32).toString("base64") });
  const port = await serve(handle);
  const posts = Array.from({ length: 5 }, () => begin(port));
  for (const { sending } of posts) sending.write(Buffer.alloc(1 * MIB));
  expect(await Promise.all(posts.map(({ status }) => status))).toEqual([400, 400, 400, 400, 400]);
});

test("a handler that stops reading in the middle has its answer sent, and the server goes on", async () => {
  const { privateKey, publicKey } = signingKey();
  const port = await serve(createWebhookHandler({ publicKey }), BODY_LIMITS);
  const headers = signedHeaders({ privateKey, body: "x", signedAt: Date.now() });
  const { sending, status } = begin(port, headers);
  for (let piece = 0; piece < 5; piece += 1) sending.write(Buffer.alloc(1024 ** 2));
  expect(await status).toBe(413);
  sending.end();
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(405);
});

test("whoever holds most gives way: unfinished bodies of one sender keep no other post out [shares of webhooks]", async () => {
  const port = await serve(echo);
  const posts = Array.from({ length: 5 }, () => begin(port));
  for (const { sending } of posts) sending.write(Buffer.alloc(15.9 * MIB));
  expect(await Promise.race(posts.map(({ status }) => status))).toBe(503);
  const { status } = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: Buffer.alloc(2 * MIB) });
  const another = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: Buffer.alloc(2 * MIB) });
  expect([status, another.status]).toEqual([202, 202]);
});

test("a body that never ends is let go, and what it held is free", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  ends.push(() => vi.useRealTimers());
  let isRead: () => void = () => {};
  const reading = new Promise<void>((resolve) => {
    isRead = resolve;
  });
  const port = await serve(async (given) => {
    const { value } = await given.body!.getReader().read();
    if (value !== undefined) isRead();
    return new Promise(() => {});
  });
  const { sending, status } = begin(port);
  sending.write("half");
  await reading;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await status).toBe(408);
});
