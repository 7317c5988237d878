import { expect, test } from "vitest";
import { ask, type Body, key, post, read, start, startHeld, until } from "../support/service.ts";

const said = { model: "chat-1", messages: [{ role: "user", content: "Describe a mill." }] };
const shown = (...urls: readonly string[]) => ({
  ...said,
  messages: [{ role: "user", content: urls.map((url) => ({ type: "image_url", image_url: { url } })) }],
});
const tools = [{ type: "function", function: { name: "get_weather", parameters: { type: "object" } } }];
const LARGE = "x".repeat(5 * 1024 * 1024);
const WEB = "https://example.com/a.png";

/** A request, and the field that is refused with 400; null where it is answered. */
type Row = readonly [name: string, body: object, param: string | null];

const REQUESTS: readonly Row[] = [
  ["no more than a model and a message", said, null],
  ["a field of another API", { ...said, store: false }, "store"],
  ["metadata", { ...said, metadata: { a: "b" } }, "metadata"],
  ["a field of nobody's", { ...said, idempotency_key: "once" }, "idempotency_key"],
  ["one choice", { ...said, n: 1 }, null],
  ["two choices", { ...said, n: 2 }, "n"],
  ["no choice", { ...said, n: 0 }, "n"],
  ["no log probabilities", { ...said, logprobs: false, top_logprobs: null }, null],
  ["log probabilities", { ...said, logprobs: true }, "logprobs"],
  ["the likeliest tokens", { ...said, top_logprobs: true }, "top_logprobs"],
  ["five likeliest tokens", { ...said, top_logprobs: 5 }, "top_logprobs"],
  ["options of a stream without one", { ...said, stream_options: { include_usage: true } }, "stream_options"],
  ["options of no stream", { ...said, stream: false, stream_options: {} }, "stream_options"],
  ["options of a stream", { ...said, stream: true, stream_options: { include_usage: true } }, null],
  ["reasoning: none", { ...said, reasoning_effort: "none" }, null],
  ["reasoning: low", { ...said, reasoning_effort: "low" }, null],
  ["reasoning: high", { ...said, reasoning_effort: "high" }, null],
  ["reasoning: max", { ...said, reasoning_effort: "max" }, null],
  ["reasoning: minimal", { ...said, reasoning_effort: "minimal" }, "reasoning_effort"],
  ["reasoning: medium", { ...said, reasoning_effort: "medium" }, "reasoning_effort"],
  ["reasoning: xhigh", { ...said, reasoning_effort: "xhigh" }, "reasoning_effort"],
  ["as many tokens as the model has", { ...said, max_tokens: 16_384 }, null],
  ["one token more", { ...said, max_tokens: 16_385 }, "max_tokens"],
  ["one token more, by the newer name", { ...said, max_completion_tokens: 16_385 }, "max_completion_tokens"],
  ["the smaller of both limits", { ...said, max_tokens: 99_999, max_completion_tokens: 50 }, null],
  ["both limits too large", { ...said, max_tokens: 20_000, max_completion_tokens: 30_000 }, "max_tokens"],
  ["no tokens", { ...said, max_tokens: 0 }, "max_tokens"],
  ["a body of more than 5 MiB", { ...said, user: LARGE }, "body"],
  ["an image on the web", shown(WEB), null],
  ["an image without TLS", shown("http://example.com/a.png"), "messages[0].content[0].image_url.url"],
  ["an image in a file", shown(WEB, "file:///etc/hosts"), "messages[0].content[1].image_url.url"],
  ["as many images as the model takes", shown(...Array<string>(96).fill(WEB)), null],
  ["one image more", shown(...Array<string>(97).fill(WEB)), "messages"],
  ["tools and how they are called", { ...said, tools, tool_choice: "auto", parallel_tool_calls: false }, null],
  ["a tool of another kind", { ...said, tools: [{ type: "web_search" }] }, "tools[0].type"],
  ["a call of a tool that is none", { ...said, tools, tool_choice: named("other") }, "tool_choice"],
  ["a call without tools", { ...said, tool_choice: "required" }, "tool_choice"],
  ["a format", { ...said, response_format: { type: "json_object" } }, null],
  ["a format of nobody's", { ...said, response_format: { type: "xml" } }, "response_format.type"],
  ["penalties and biases", { ...said, frequency_penalty: 1, presence_penalty: -1, logit_bias: { "7": 5 } }, null],
  ["a penalty out of range", { ...said, frequency_penalty: 3 }, "frequency_penalty"],
  ["who asks", { ...said, user: "a", safety_identifier: "b", prompt_cache_key: "c" }, null],
  ["nulls for what may be left out", { ...said, n: null, seed: null, stop: null, tools: null, logprobs: null }, null],
];

function named(name: string) {
  return { type: "function", function: { name } };
}

/** Refused the way that clients of language models read: kind, whether to retry, and when. */
function refusal(status: number, type: string, retryable: boolean) {
  return { status, type, retryable, header: String(retryable), retryAfter: retryable ? "1" : null };
}

async function verdict(service: Parameters<typeof ask>[0], body: object, credential?: string, path = PATH) {
  const reply = await ask(service, "POST", path, { body, ...(credential && { credential }) });
  if (reply.status === 200) return { status: 200, error: null };
  const { status, headers, body: answer } = reply;
  const { type, retryable } = answer.error;
  const [header, retryAfter] = [headers.get("x-should-retry"), headers.get("retry-after")];
  return { error: answer.error, status, type, retryable, header, retryAfter };
}

const PATH = "/chat/completions";

test.each(REQUESTS)("%s", async (_name, body, param) => {
  const service = await start();
  const { error, ...found } = await verdict(service, body);
  expect(found).toEqual(param === null ? { status: 200 } : refusal(400, "invalid_request_error", false));
  expect(error?.param ?? null).toBe(param);
});

test("every refusal has its kind, and says whether to retry", async () => {
  const service = await start();
  const found = async (body: object, credential?: string) => {
    const { error: _, ...rest } = await verdict(service, body, credential);
    return rest;
  };
  const poor = await key(service, { workspace_id: "poor", scopes: ["chat:write"] });
  const narrow = await key(service, { scopes: ["jobs:write"] });
  const moderated = { ...said, messages: [{ role: "user", content: "moderation-refused" }] };
  expect(await found({ ...said, model: "glm-5.3" })).toEqual(refusal(404, "invalid_request_error", false));
  expect(await found(said, "key_x:wrong")).toEqual(refusal(401, "authentication_error", false));
  expect(await found(said, narrow)).toEqual(refusal(403, "permission_error", false));
  expect(await found(said, poor)).toEqual(refusal(402, "invalid_request_error", false));
  expect(await found(moderated)).toEqual(refusal(422, "invalid_request_error", false));
  for (const [code, status, type, retryable] of [
    ["RESOURCE_EXHAUSTED", 429, "rate_limit_error", true],
    ["INTERNAL", 500, "server_error", false],
    ["UNAVAILABLE", 503, "server_error", true],
    ["DEADLINE_EXCEEDED", 504, "server_error", true],
  ] as const) {
    service.faults([{ kind: "error", code, count: 1 }]);
    expect(await found(said)).toEqual(refusal(status, type, retryable));
  }
});

test("jobs of media are refused as before: without a kind, and without a header", async () => {
  const service = await start();
  const { body, headers } = await post(service, "/models/image-1", { input: {}, extra: 1 });
  expect([body.error.type, headers.get("x-should-retry")]).toEqual([undefined, null]);
});

/** A service on which answers stay in flight. */
async function halted(options: object = {}) {
  const service = await startHeld({ speed: 1, ...options });
  const inFlight = (count: number) => until(service, "/jobs?limit=100", (page) => page.data.length === count);
  return { service, inFlight };
}

test("a key has 15 requests in flight at most, and a workspace too", async () => {
  const { service, inFlight } = await halted();
  const begun = Array.from({ length: 15 }, () => post(service, PATH, said));
  await inFlight(15);
  const reply = await post(service, PATH, { ...said, stream: true });
  expect([reply.status, reply.body.error.type, reply.body.error.retryable]).toEqual([429, "rate_limit_error", true]);
  const headers = ["x-ratelimit-concurrency-limit", "x-ratelimit-concurrency-remaining", "retry-after"];
  expect(headers.map((name) => reply.headers.get(name))).toEqual(["15", "0", "1"]);
  const other = await key(service, { scopes: ["chat:write"] });
  expect((await verdict(service, said, other)).status).toBe(429);
  const apart = await key(service, { workspace_id: "apart" });
  expect((await verdict(service, said, apart)).status).toBe(402);
  await service.clock.advance(60_000);
  expect((await Promise.all(begun)).map(({ status }) => status)).toEqual(Array(15).fill(200));
  const last = post(service, PATH, said);
  await inFlight(16);
  await service.clock.advance(60_000);
  expect((await last).status).toBe(200);
});

test("the highest price is held until the end: what it exceeds is final, what others hold can be retried", async () => {
  // 100 tokens of an answer cost 400 micro-dollars at most.
  const { service, inFlight } = await halted({ balance: 0.0006 });
  const body = { ...said, max_tokens: 100 };
  const first = post(service, PATH, body);
  await inFlight(1);
  const balance = async () => (await read(service, "/balance")).balance as number;
  expect(await balance()).toBeLessThan(0.0002);
  const { data } = await read(service, "/jobs");
  expect("cost" in data[0]).toBe(false);
  const { error, ...second } = await verdict(service, body);
  expect(second).toEqual(refusal(402, "invalid_request_error", true));
  expect(error.billing.balance).toBe(await balance());
  const { error: _, ...never } = await verdict(service, { ...body, max_tokens: 1000 });
  expect(never).toEqual(refusal(402, "invalid_request_error", false));
  await service.clock.advance(60_000);
  const { id, usage } = (await first).body;
  const { cost } = await read(service, `/jobs/${id}`);
  expect(Math.round(cost * 1e6)).toBe(usage.prompt_tokens + 4 * usage.completion_tokens);
  expect(await balance()).toBeCloseTo(0.0006 - cost, 9);
});

test("a finished chat's job has its tokens and the time to the first of them, and one of media has not", async () => {
  const { service, inFlight } = await halted();
  const asked = post(service, PATH, { ...said, reasoning_effort: "low" });
  await inFlight(1);
  const [{ job_id }] = (await read(service, "/jobs")).data;
  expect("usage" in (await read(service, `/jobs/${job_id}`))).toBe(false);
  await service.clock.advance(60_000);
  const { usage } = (await asked).body;
  const job = await read(service, `/jobs/${job_id}`);
  const { prompt_tokens, completion_tokens, completion_tokens_details } = usage;
  const { reasoning_tokens } = completion_tokens_details;
  expect(job.usage).toEqual({ prompt_tokens, completion_tokens, reasoning_tokens, estimated: false });
  expect(job.usage.reasoning_tokens).toBeGreaterThan(0);
  expect(job.metrics).toEqual({ processing_time_ms: expect.any(Number), time_to_first_token_ms: 200 });
  const media = (await post(service, "/models/image-1", { input: { prompt: "A mill" } })).body;
  await service.clock.advance(600_000);
  const image: Body = await until(service, `/jobs/${media.job_id}`, ({ status }) => status === "COMPLETED");
  expect([image.usage, image.metrics.time_to_first_token_ms]).toEqual([undefined, undefined]);
});

test("reasoning comes before the answer, apart from it, and counts among its tokens", async () => {
  const service = await start();
  const body = { ...said, reasoning_effort: "high" };
  const { choices, usage } = (await post(service, PATH, body)).body;
  expect(choices[0].message.reasoning_content).toContain("high");
  expect(choices[0].message.content).toBe("Simulated answer to: Describe a mill.");
  const { reasoning_tokens } = usage.completion_tokens_details;
  expect(usage.completion_tokens).toBeGreaterThan(reasoning_tokens);
  const cut = await post(service, PATH, { ...body, max_tokens: 2 });
  expect(cut.body.choices[0]).toMatchObject({ finish_reason: "length", message: { content: "" } });
  const streamed = await post(service, PATH, { ...body, stream: true });
  const frames = String(streamed.body).trim().split("\n\n").slice(1, -2);
  const deltas = frames.map((frame) => Object.keys(JSON.parse(frame.slice(6)).choices[0].delta)[0]);
  expect(deltas.lastIndexOf("reasoning_content")).toBe(reasoning_tokens - 1);
  expect(deltas.indexOf("content")).toBe(reasoning_tokens);
});

test("ids of models match in any case, and the answer names the model as the list does", async () => {
  const service = await start();
  expect((await post(service, PATH, { ...said, model: "CHAT-1" })).body.model).toBe("chat-1");
});
