import { APIError, BadRequestError } from "openai";
import { expect, test } from "vitest";
import { words } from "../../support/word-list.ts";
import { openAi } from "../support/open-ai.ts";
import { post, read, start } from "../support/service.ts";

const PATH = "/responses";
const said = { model: "chat-1", input: "Describe a mill." };
const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const parameters = { ...city, additionalProperties: false };
const weather = { type: "function" as const, name: "get_weather", strict: true, parameters };

test("the client reads a response whose id is the id of a job, with the same words as a chat's", async () => {
  const service = await start();
  const client = openAi(service);
  const response = await client.responses.create({ ...said, instructions: "Be short." });
  expect(response).toMatchObject({ object: "response", status: "completed", store: false, model: "chat-1" });
  expect(response.output_text).toBe("Simulated answer to: Describe a mill.");
  const system = { role: "system" as const, content: "Be short." };
  const messages = [system, { role: "user" as const, content: "Describe a mill." }];
  const { choices, usage } = await client.chat.completions.create({ model: "chat-1", messages });
  expect(choices[0]?.message.content).toBe(response.output_text);
  const { prompt_tokens: input_tokens, completion_tokens: output_tokens, total_tokens } = usage!;
  expect(response.usage).toMatchObject({ input_tokens, output_tokens, total_tokens });
  const job = await read(service, `/jobs/${response.id}`);
  expect(job).toMatchObject({ model: "chat-1", status: "COMPLETED", outputs: [], prompt: "Describe a mill." });
});

test("the client puts the events of a stream together: reasoning, then the words, each begun and ended", async () => {
  const service = await start();
  const stream = openAi(service).responses.stream({ ...said, reasoning: { effort: "minimal" } });
  const types: string[] = [];
  const numbers: number[] = [];
  for await (const event of stream) {
    if (types.at(-1) !== event.type) types.push(event.type);
    numbers.push(event.sequence_number);
  }
  expect(types).toEqual(
    words(`
    response.created response.in_progress response.output_item.added response.reasoning_summary_part.added
    response.reasoning_summary_text.delta response.reasoning_summary_text.done response.reasoning_summary_part.done
    response.output_item.done response.output_item.added response.content_part.added response.output_text.delta
    response.output_text.done response.content_part.done response.output_item.done response.completed
  `),
  );
  expect(numbers).toEqual(numbers.map((_, index) => index));
  const whole = await stream.finalResponse();
  expect(whole.output.map(({ type }) => type)).toEqual(["reasoning", "message"]);
  expect(whole.output_text).toBe("Simulated answer to: Describe a mill.");
  expect(JSON.stringify(whole.output[0])).toContain("effort low");
  expect(whole.usage?.output_tokens_details.reasoning_tokens).toBeGreaterThan(0);
});

test("a tool is called with arguments that fit, streamed and not, and its result is answered in words", async () => {
  const service = await start();
  const client = openAi(service);
  const body = { model: "chat-1", input: "What is the weather in Paris?", tools: [weather] };
  const response = await client.responses.create(body);
  const [call] = response.output;
  if (call?.type !== "function_call") throw new Error("no call");
  expect(JSON.parse(call.arguments)).toEqual({ city: expect.any(String) });
  const streamed = await client.responses.stream(body).finalResponse();
  expect(streamed.output).toMatchObject([{ type: "function_call", name: "get_weather", arguments: call.arguments }]);
  const result = { type: "function_call_output" as const, call_id: call.call_id, output: "3 degrees" };
  const told = await client.responses.create({ ...body, input: [{ role: "user", content: body.input }, call, result] });
  expect(told.output_text).toContain("Simulated answer");
  const forced = { ...body, input: "Hello", tool_choice: "required" as const };
  expect((await client.responses.create(forced)).output[0]).toMatchObject({ type: "function_call" });
});

test("a tool of a namespace is called by its own name, with the namespace beside it", async () => {
  const service = await start();
  const tools = [{ type: "namespace", name: "sky", description: "Skies", tools: [weather] }];
  const body = { model: "chat-1", input: "The weather?", tools };
  const { output } = (await post(service, PATH, body)).body;
  expect(output).toMatchObject([{ type: "function_call", namespace: "sky", name: "get_weather" }]);
});

test("a format by a schema is answered in JSON, and a limit of tokens ends as incomplete", async () => {
  const service = await start();
  const client = openAi(service);
  const format = { type: "json_schema" as const, name: "city", schema: parameters };
  const { output_text } = await client.responses.create({ ...said, text: { format } });
  expect(JSON.parse(output_text)).toEqual({ city: expect.any(String) });
  const cut = await client.responses.create({ ...said, max_output_tokens: 2 });
  expect(cut).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
  const events = await post(service, PATH, { ...said, max_output_tokens: 2, stream: true });
  expect(String(events.body)).toContain("event: response.incomplete\n");
});

const IMAGE = { type: "input_image" };
const item = (more: object) => ({ ...said, input: [{ role: "user", content: "A mill." }, more] });

test.each<[string, object, string]>([
  ["an earlier response", { ...said, previous_response_id: "resp_1" }, "previous_response_id"],
  ["a conversation", { ...said, conversation: "conv_1" }, "conversation"],
  ["an item of an earlier response", item({ type: "item_reference", id: "msg_1" }), "input[1].type"],
  ["to be stored", { ...said, store: true }, "store"],
  ["a field of nobody's", { ...said, truncation: "auto" }, "truncation"],
  ["a tool that is none", { ...said, tools: [{ type: "web_search" }] }, "tools[0].type"],
  ["more tokens than the model has", { ...said, max_output_tokens: 16_385 }, "max_output_tokens"],
  ["an unknown effort", { ...said, reasoning: { effort: "extreme" } }, "reasoning.effort"],
  ["an image without TLS", item({ role: "user", content: [{ ...IMAGE, image_url: "http://a.example" }] }), "input"],
])("%s is refused, by the name that was sent", async (_name, body, param) => {
  const service = await start();
  const reply = await post(service, PATH, body);
  expect([reply.status, reply.headers.get("x-should-retry")]).toEqual([400, "false"]);
  expect(reply.body.error).toMatchObject({ type: "invalid_request_error", param });
});

test("efforts of reasoning are those of a chat: minimal is low, medium the default, xhigh max", async () => {
  const service = await start();
  const effort = async (effort: string) => {
    const { output } = (await post(service, PATH, { ...said, reasoning: { effort } })).body;
    return /effort (\w+)/.exec(JSON.stringify(output))?.[1] ?? null;
  };
  const efforts = ["none", "minimal", "low", "medium", "high", "xhigh"];
  expect(await Promise.all(efforts.map(effort))).toEqual([null, "low", "low", null, "high", "max"]);
});

test("a failure after the stream has begun is one event error and the end, and one before it is a refusal", async () => {
  const service = await start();
  service.faults([{ kind: "fail_job", model: "chat-1", code: "UNAVAILABLE" }]);
  const { body } = await post(service, PATH, { ...said, stream: true });
  const frames = String(body).trim().split("\n\n");
  expect(frames.at(-1)).toMatch(/^event: error\ndata: /);
  const data = JSON.parse(frames.at(-1)!.split("\ndata: ")[1]!);
  expect(data).toMatchObject({ type: "error", code: "UNAVAILABLE", error: { type: "server_error", retryable: false } });
  expect(frames.some((frame) => frame.includes("response.completed") || frame.includes("[DONE]"))).toBe(false);
  const reading = async () => {
    for await (const _ of await openAi(service).responses.create({ ...said, stream: true }));
  };
  await expect(reading()).rejects.toBeInstanceOf(APIError);
  await expect(openAi(service).responses.create(said)).rejects.toMatchObject({ status: 503, type: "server_error" });
  service.faults([]);
  const refused = openAi(service).responses.create({ ...said, store: true });
  await expect(refused).rejects.toBeInstanceOf(BadRequestError);
});
