import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { jsonBody, LONGEST_BODY_MS } from "../../src/handler/read-body.ts";

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
  const outcome = jsonBody(request).catch((error: unknown) => error);
  for (let count = 0; count < 10; count += 1) {
    send(" ");
    await vi.advanceTimersByTimeAsync(LONGEST_BODY_MS / 10);
  }
  expect(await outcome).toMatchObject({
    status: 408,
    code: "BODY_TIMEOUT",
    message: "The body did not arrive within 300 seconds: send it again, and name large files by a URL.",
  });
  expect(onCancel).toHaveBeenCalledOnce();
});

test("a body that ends just before the deadline is read, and leaves no timer", async () => {
  const { request, send, end, onCancel } = slowRequest();
  const body = jsonBody(request);
  send('{"a":');
  await vi.advanceTimersByTimeAsync(LONGEST_BODY_MS - 1);
  send("1}");
  end();
  expect(await body).toEqual({ a: 1 });
  expect(vi.getTimerCount()).toBe(0);
  expect(onCancel).not.toHaveBeenCalled();
});
