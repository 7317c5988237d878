import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { jsonBody } from "../../../src/studio/handler/read-input.ts";
import { LONGEST_BODY_MS, readJson } from "../../../src/studio/served/bodies.ts";
import { requestOf } from "../../../src/studio/served/index.ts";

const BOUNDS = { mostBytes: 100, instead: "send less" };

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** A request whose sender sends when the test says so. */
function slowRequest() {
  const onCancel = vi.fn();
  let sender!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      sender = controller;
    },
    cancel: onCancel,
  });
  const streamed = { body, duplex: "half" as const };
  const headers = { "Content-Type": "application/json" };
  const request = new Request("http://x/runs", { method: "POST", headers, ...streamed });
  const send = (text: string) => sender.enqueue(new TextEncoder().encode(text));
  return { request, send, end: () => sender.close(), onCancel };
}

test("a body that trickles in is refused at the deadline, and its sender is let go", async () => {
  const { request, send, onCancel } = slowRequest();
  const outcome = jsonBody({ request, hold: () => {} }).catch((error: unknown) => error);
  for (let count = 0; count < 10; count += 1) {
    send(" ");
    await vi.advanceTimersByTimeAsync(LONGEST_BODY_MS / 10);
  }
  expect(await outcome).toMatchObject({
    status: 408,
    code: "BODY_TIMEOUT",
    message: "The body did not arrive within 300 seconds. Send it again, and pass large files by URL.",
  });
  expect(onCancel).toHaveBeenCalledOnce();
});

test("a body that ends just before the deadline is read, and leaves no timer", async () => {
  const { request, send, end, onCancel } = slowRequest();
  const body = jsonBody({ request, hold: () => {} });
  send('{"a":');
  await vi.advanceTimersByTimeAsync(LONGEST_BODY_MS - 1);
  send("1}");
  end();
  expect(await body).toEqual({ a: 1 });
  expect(vi.getTimerCount()).toBe(0);
  expect(onCancel).not.toHaveBeenCalled();
});

function sentAs(contentType: string): PassThrough {
  return Object.assign(new PassThrough(), { method: "POST", headers: { "content-type": contentType } });
}

const received = (incoming: PassThrough) => requestOf(incoming as unknown as IncomingMessage, "http://x/runs");

test("one that trickles into a server of Node's is refused too, and can still be answered", async () => {
  const incoming = sentAs("application/json");
  const outcome = readJson(received(incoming), BOUNDS).catch((error) => error);
  for (let count = 0; count < 10; count += 1) {
    incoming.write(" ");
    await vi.advanceTimersByTimeAsync(LONGEST_BODY_MS / 10);
  }
  expect(await outcome).toMatchObject({ status: 408, code: "BODY_TIMEOUT" });
  expect([incoming.destroyed, vi.getTimerCount()]).toEqual([false, 0]);
});

test("a body of a server of Node's is read whole, up to its bound, and one that is cut short is refused", async () => {
  const read = (incoming: PassThrough) => readJson(received(incoming), BOUNDS).catch((error) => error);
  const whole = sentAs("application/json; charset=utf-8");
  whole.end('{"a":1}');
  expect(await read(whole)).toEqual({ a: 1 });
  const large = sentAs("application/json");
  large.end(`{"a":"${"x".repeat(BOUNDS.mostBytes)}"}`);
  expect(await read(large)).toMatchObject({ status: 413, message: "A request can be at most 100 bytes; send less." });
  expect(large.destroyed).toBe(false);
  const cut = sentAs("application/json");
  const outcome = read(cut);
  cut.write("{");
  cut.destroy(new Error("aborted"));
  expect(await outcome).toMatchObject({ status: 400, message: "The body was cut short." });
  const text = sentAs("text/plain");
  text.end("{}");
  expect(await read(text)).toMatchObject({ status: 415 });
});

test("a body that another reader has emptied is refused, never taken for one without fields", async () => {
  const headers = (sizeBytes: number) =>
    new Headers({ "Content-Type": "application/json", "Content-Length": String(sizeBytes) });
  const empty = new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
  for (const body of [null, empty]) {
    const outcome = readJson({ headers: headers(24), body }, BOUNDS);
    await expect(outcome).rejects.toMatchObject({ status: 400, message: expect.stringContaining("body parser") });
  }
  expect(await readJson({ headers: headers(0), body: null }, BOUNDS)).toEqual({});
});
