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

test("brings back bytes as they are, and each cookie", async () => {
  const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => (index * 7) % 256);
  const headers = new Headers({ "content-type": "image/png" });
  for (const cookie of ["a=1", "b=2"]) headers.append("set-cookie", cookie);
  const port = await serve(async () => new Response(bytes, { headers }));
  const answer = await fetch(`http://127.0.0.1:${port}/`);
  expect(Buffer.compare(await answer.bytes(), bytes)).toBe(0);
  expect([answer.headers.get("content-type"), answer.headers.getSetCookie()]).toEqual(["image/png", ["a=1", "b=2"]]);
});

test.each([204, 304])("an answer of %i has no body", async (status) => {
  const port = await serve(async () => new Response(null, { status }));
  const answer = await fetch(`http://127.0.0.1:${port}/`);
  expect([answer.status, await answer.text()]).toEqual([status, ""]);
});

/** An event stream whose events are said by hand. */
function eventStream() {
  let say: (text: string) => void = () => {};
  let fail: (error: Error) => void = () => {};
  const cancelled = vi.fn<() => void>();
  const body = new ReadableStream({
    start(controller) {
      say = (text) => controller.enqueue(Buffer.from(text));
      fail = (error) => controller.error(error);
    },
    cancel: cancelled,
  });
  const answer = new Response(body, { headers: { "content-type": "text/event-stream" } });
  return { answer, say, fail, cancelled };
}

test("an event stream is sent as it comes, and is cancelled once the client goes away", async () => {
  const { answer, say, cancelled } = eventStream();
  const signals: AbortSignal[] = [];
  const port = await serve(async ({ signal }) => {
    signals.push(signal);
    return answer;
  });
  const leaving = new AbortController();
  const got = await fetch(`http://127.0.0.1:${port}/`, { signal: leaving.signal });
  expect([got.status, got.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  const reader = got.body!.getReader();
  for (const event of ["data: 1\n\n", "data: 2\n\n"]) {
    say(event);
    expect(Buffer.from((await reader.read()).value!).toString()).toBe(event);
  }
  expect([cancelled.mock.calls.length, signals[0]!.aborted]).toEqual([0, false]);
  leaving.abort();
  await expect.poll(() => [cancelled.mock.calls.length, signals[0]!.aborted]).toEqual([1, true]);
});

test("a stream is cancelled if the client went away before the handler answered, or asked for the head only", async () => {
  const [late, head] = [eventStream(), eventStream()];
  const isAsked = vi.fn<() => void>();
  const port = await serve(async ({ method, signal }) => {
    if (method === "HEAD") return head.answer;
    isAsked();
    await once(signal, "abort");
    return late.answer;
  });
  const { sending } = begin(port);
  sending.end();
  await expect.poll(() => isAsked.mock.calls.length).toBe(1);
  sending.destroy();
  expect((await fetch(`http://127.0.0.1:${port}/`, { method: "HEAD" })).status).toBe(200);
  await expect.poll(() => [late, head].map(({ cancelled }) => cancelled.mock.calls.length)).toEqual([1, 1]);
});

test("a stream that fails breaks the connection off, and the server goes on", async () => {
  const { answer, say, fail } = eventStream();
  const port = await serve(async (given) => (given.method === "GET" ? answer : echo(given)));
  const got = await fetch(`http://127.0.0.1:${port}/`);
  say("data: 1\n\n");
  fail(new Error("down"));
  await expect(got.text()).rejects.toThrow();
  expect((await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "told" })).status).toBe(202);
});

test("a body that was read no longer counts while its answer streams", async () => {
  const port = await serve(async (given) => {
    await given.bytes();
    return eventStream().answer;
  });
  const post = () => fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: Buffer.alloc(15 * MIB) });
  const statuses: number[] = [];
  for (let streams = 0; streams < 6; streams += 1) statuses.push((await post()).status);
  expect(statuses).toEqual([200, 200, 200, 200, 200, 200]);
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
