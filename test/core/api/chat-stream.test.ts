import { afterEach, beforeEach, expect, test } from "vitest";
import { type ChatChunk, type Client, createClient } from "../../../src/core/api/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { clientSetup } from "../../support/client-setup.ts";
import { failure, hangUp, type Reply } from "../../support/fake-service.ts";

const setUp = clientSetup();
const asked = { model: "chat-1", messages: [{ role: "user", content: "Describe a fox in the snow." }], temperature: 0 };
let service: LocalService;
let client: Client;
beforeEach(async () => {
  service = await startLocalService({ renderer: "stub" });
  client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
});
afterEach(async () => {
  await client.close();
  await service.close();
});

async function all(chunks: AsyncIterable<ChatChunk>): Promise<ChatChunk[]> {
  const list: ChatChunk[] = [];
  for await (const chunk of chunks) list.push(chunk);
  return list;
}

/** A stream of the given data lines, left open or ended. */
const streamed =
  (lines: readonly string[], end = true): Reply =>
  (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(lines.map((line) => `data: ${line}\n\n`).join(""));
    if (end) response.end();
  };
const piece = (content: string) => JSON.stringify({ id: "job_1", choices: [{ index: 0, delta: { content } }] });

test("the pieces of a streamed completion are the text of the whole one, and their id is a job's", async () => {
  const whole = await client.chat(asked);
  const chunks = await all(client.chatStream({ ...asked, stream_options: { include_usage: true } }));
  expect(chunks.length).toBeGreaterThan(3);
  expect(chunks.map((chunk) => chunk.content).join("")).toBe(whole.content);
  expect(chunks.flatMap((chunk) => chunk.finishReason ?? [])).toEqual(["stop"]);
  expect(chunks.at(-1)!.usage).toEqual(whole.usage);
  expect((await client.job(chunks[0]!.id!)).status).toBe("COMPLETED");
});

test("an error in a stream that has begun is an ApiError after the pieces before it", async () => {
  service.faults([{ kind: "fail_job", model: "chat-1", code: "UNAVAILABLE" }]);
  const seen: string[] = [];
  const reading = (async () => {
    for await (const chunk of client.chatStream(asked)) seen.push(chunk.content);
  })();
  await expect(reading).rejects.toMatchObject({ name: "ApiError", code: "UNAVAILABLE", retryable: false, status: 200 });
  expect(seen.length).toBeGreaterThan(0);
});

test("a refusal before the stream is an ApiError", async () => {
  await expect(all(client.chatStream({ ...asked, model: "chat-9" }))).rejects.toMatchObject({ status: 404 });
});

test("unknown fields, empty chunks and comments are tolerated, and what comes after the end is not read", async () => {
  const { client: reader } = await setUp([
    streamed([piece("a"), '{"new":1}', '{"choices":[{"delta":null}],"usage":null}', piece("b"), "[DONE]", piece("c")]),
  ]);
  const chunks = await all(reader.chatStream(asked));
  expect(chunks.map((chunk) => chunk.content)).toEqual(["a", "", "", "b"]);
});

test("a stream that ends or breaks without its last chunk is an error, and is never sent again", async () => {
  for (const reply of [streamed([piece("a")]), cutAfter(piece("a"))]) {
    const { client: reader, service: server } = await setUp([reply]);
    await expect(all(reader.chatStream(asked))).rejects.toMatchObject({ code: "CONNECTION_FAILED", sent: true });
    expect(server.seen).toHaveLength(1);
  }
});

test("a lost answer is never sent again; a limit and a service away are waited out", async () => {
  const gone = await setUp([hangUp]);
  await expect(all(gone.client.chatStream(asked))).rejects.toMatchObject({ code: "CONNECTION_FAILED", sent: true });
  expect(gone.service.seen).toHaveLength(1);
  const away = await setUp([
    failure(429, "RESOURCE_EXHAUSTED", { retryable: true, retry_after: 1 }),
    failure(503, "UNAVAILABLE", { retryable: true, retry_after: 1 }),
    streamed([piece("a"), "[DONE]"]),
  ]);
  expect(await all(away.client.chatStream(asked))).toHaveLength(1);
  expect(JSON.parse(away.service.seen[2]!.body)).toMatchObject({ stream: true, model: "chat-1" });
});

test("a data line that is no JSON is a malformed response", async () => {
  const { client: reader } = await setUp([streamed(["nonsense", "[DONE]"])]);
  await expect(all(reader.chatStream(asked))).rejects.toMatchObject({ code: "MALFORMED_RESPONSE" });
});

test("silence ends as a time-out, an abort with the caller's reason, and leaving early closes the connection", async () => {
  const { client: reader } = await setUp([streamed([piece("a")], false)]);
  await expect(all(reader.chatStream(asked, { timeoutMs: 20 }))).rejects.toMatchObject({ code: "CLIENT_TIMEOUT" });
  const stop = new AbortController();
  const reason = new Error("enough");
  const aborted = (async () => {
    for await (const _ of reader.chatStream(asked, { signal: stop.signal })) stop.abort(reason);
  })();
  await expect(aborted).rejects.toBe(reason);
  for await (const chunk of reader.chatStream(asked)) {
    expect(chunk.content).toBe("a");
    break;
  }
});

function cutAfter(line: string): Reply {
  return (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${line}\n\n`, () => setImmediate(() => response.destroy()));
  };
}
