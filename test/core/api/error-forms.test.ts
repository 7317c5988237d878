import { expect, test } from "vitest";
import type { ApiError, ChatChunk } from "../../../src/core/api/index.ts";
import { clientSetup } from "../../support/client-setup.ts";
import { ack, failure, json, type Reply } from "../../support/fake-service.ts";

const setUp = clientSetup();
const asked = { model: "zai-org/glm-5.3", messages: [{ role: "user", content: "Describe a fox." }] };
const submit = { model: "m", input: {}, idempotencyKey: "k1" };
const funds = { balance: 0, required: 0.1, currency: "USD", funding_url: "https://pay.test" };
const answered = json(200, {
  ...{ id: "job_1", model: asked.model },
  choices: [{ index: 0, message: { role: "assistant", content: "Red." }, finish_reason: "stop" }],
});
/** The form that clients of chat models know: a lower-case code, no `retryable`, no trace. */
const foreign = (status: number, code: string | null, type: string, headers: Record<string, string> = {}): Reply =>
  json(status, { error: { message: "said by the test", type, param: null, code } }, headers);

async function failed(work: Promise<unknown>): Promise<ApiError> {
  return work.then(
    () => expect.fail("it was answered"),
    (error: ApiError) => error,
  );
}

test.each([
  [400, "invalid_argument", "invalid_request_error", "INVALID_ARGUMENT", false],
  [401, "invalid_api_key", "authentication_error", "UNAUTHORIZED", false],
  [402, "insufficient_balance", "invalid_request_error", "INSUFFICIENT_BALANCE", false],
  [403, "permission_denied", "permission_error", "PERMISSION_DENIED", false],
  [404, "model_not_found", "invalid_request_error", "NOT_FOUND", false],
  [429, "rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED", true],
  [500, null, "server_error", "INTERNAL", false],
  [503, null, "server_error", "UNAVAILABLE", true],
  [504, "deadline_exceeded", "server_error", "DEADLINE_EXCEEDED", false],
] as const)(
  "a chat's %i with code %s and type %s is the service's own %s",
  async (status, code, type, name, retryable) => {
    const { client } = await setUp([foreign(status, code, type)], { retry: { maxAttempts: 1, maxElapsedMs: 0 } });
    const error = await failed(client.chat(asked));
    expect(error).toMatchObject({ status, code: name, retryable, envelope: true, serviceMessage: "said by the test" });
  },
);

test("the envelope of v3 with a type beside its code is read as it is without, and a code that is not known stays", async () => {
  const details = [{ field: "store", message: "unknown", reason: "unknown_field", allowed: null }];
  const type = "invalid_request_error";
  const { client } = await setUp([
    failure(400, "INVALID_ARGUMENT", { type, param: "store", details }),
    failure(400, "QUOTA_OF_TOMORROW", { type }),
  ]);
  expect(await failed(client.chat(asked))).toMatchObject({ code: "INVALID_ARGUMENT", param: "store", details });
  expect(await failed(client.chat(asked))).toMatchObject({ code: "QUOTA_OF_TOMORROW" });
});

test("an error that somebody else words, without code and type, is not taken for the service's", async () => {
  const { client } = await setUp([json(502, { error: { message: "bad gateway" } })]);
  expect(await failed(client.chat(asked))).toMatchObject({ envelope: false });
});

test.each([
  [
    "with retry_after in the body",
    failure(402, "INSUFFICIENT_BALANCE", { retryable: true, retry_after: 2, billing: funds }),
  ],
  ["with Retry-After", failure(402, "INSUFFICIENT_BALANCE", { retryable: true }, { "retry-after": "2" })],
  ["with x-should-retry", failure(402, "INSUFFICIENT_BALANCE", {}, { "x-should-retry": "true", "retry-after": "2" })],
  ["in the other form", foreign(402, "insufficient_balance", "x", { "x-should-retry": "true", "retry-after": "2" })],
])("a 402 that passes, %s, is waited for and sent again, for a submit and for a chat", async (_name, refusal) => {
  const { client, service } = await setUp([refusal, ack(), refusal, answered]);
  expect(await client.submit(submit)).toMatchObject({ jobId: "job_1" });
  expect(await client.chat(asked)).toMatchObject({ content: "Red." });
  expect(service.seen).toHaveLength(4);
});

test.each([
  ["a final 402", failure(402, "INSUFFICIENT_BALANCE", { billing: funds })],
  [
    "a 503 that x-should-retry calls final",
    failure(503, "UNAVAILABLE", { retryable: true }, { "x-should-retry": "false" }),
  ],
])("%s is not sent again by a chat", async (_name, refusal) => {
  const { client, service } = await setUp([refusal]);
  expect(await failed(client.chat(asked))).toMatchObject({ retryable: false });
  expect(service.seen).toHaveLength(1);
});

/** A stream that ends with this event. */
const streamed =
  (event: string): Reply =>
  (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`data: {"id":"job_1","choices":[{"index":0,"delta":{"content":"Re"}}]}\n\n${event}\n\n`);
  };

test.each([
  ["the envelope", 'data: {"error":{"code":"UNAVAILABLE","message":"m","retryable":false,"type":"server_error"}}'],
  ["the envelope as an event", 'event: error\ndata: {"error":{"code":"UNAVAILABLE","message":"m"},"trace_id":null}'],
  ["the error alone as an event", 'event: error\ndata: {"code":"UNAVAILABLE","message":"m"}'],
  ["the other form", 'data: {"error":{"code":"unavailable","message":"m","type":"server_error","param":null}}'],
])("a stream that was cut and ends with %s is an ApiError after its pieces", async (_name, event) => {
  const { client } = await setUp([streamed(event)]);
  const seen: string[] = [];
  const read = async (chunks: AsyncIterable<ChatChunk>) => {
    for await (const { content } of chunks) seen.push(content);
  };
  expect(await failed(read(client.chatStream(asked)))).toMatchObject({ code: "UNAVAILABLE", retryable: false });
  expect(seen).toEqual(["Re"]);
});

test("an error in a stream that cannot be read is an error all the same", async () => {
  const { client } = await setUp([streamed('data: {"error":{"message":"overloaded"}}')]);
  const read = async () => {
    for await (const _ of client.chatStream(asked)) void _;
  };
  expect(await failed(read())).toMatchObject({ code: "MALFORMED_RESPONSE" });
});
