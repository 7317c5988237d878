import OpenAI, { APIError, AuthenticationError, NotFoundError } from "openai";
import { expect, test } from "vitest";
import type { LocalService } from "../../../src/local-service/index.ts";
import { ask, get, key, start } from "../support/service.ts";

/* The client from npm as it is, given a base URL and a key. */
const clientOf = (service: LocalService, apiKey = service.apiKey) =>
  new OpenAI({ baseURL: service.baseUrl, apiKey, maxRetries: 0 });

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

const asked = [{ role: "user" as const, content: "Describe a fox who finds a lamp in the snow." }];

const SHOTS = {
  type: "object",
  additionalProperties: false,
  required: ["title", "shots"],
  properties: {
    title: { type: "string" },
    shots: {
      type: "array",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["prompt", "duration_ms", "framing"],
        properties: {
          prompt: { type: "string" },
          duration_ms: { type: "integer", enum: [3000, 4000, 5000] },
          framing: { type: ["string", "null"] },
        },
      },
    },
  },
};

test("the client reads a completion whose id is the id of a job with no outputs [A6 P39 S16 S17 S18 WT1 WT3]", async () => {
  const service = await start();
  const answer = await clientOf(service).chat.completions.create({ model: "chat-1", messages: asked });
  expect(answer.object).toBe("chat.completion");
  expect(answer.choices[0]?.message).toMatchObject({ role: "assistant", content: expect.stringContaining("fox") });
  expect(answer.choices[0]?.finish_reason).toBe("stop");
  const { prompt_tokens, completion_tokens, total_tokens } = answer.usage!;
  expect(prompt_tokens).toBeGreaterThan(0);
  expect(total_tokens).toBe(prompt_tokens + completion_tokens);
  const { body } = await get(service, "/jobs");
  expect(body.data).toHaveLength(1);
  expect(body.data[0]).toMatchObject({ job_id: answer.id, model: "chat-1", status: "COMPLETED" });
  const job = (await get(service, `/jobs/${answer.id}`)).body;
  expect(job.outputs).toEqual([]);
  expect(job.cost).toBeGreaterThan(0);
  expect((await get(service, "/balance")).body.balance).toBeCloseTo(25 - job.cost, 9);
});

test("the client streams the same text in chunks, with usage when it asks for it [S17 WT1 WT2]", async () => {
  const service = await start();
  const client = clientOf(service);
  const request = { model: "chat-1", messages: asked, temperature: 0 };
  const whole = await client.chat.completions.create(request);
  const stream = await client.chat.completions.create({
    ...request,
    stream: true,
    stream_options: { include_usage: true },
  });
  const chunks = await all(stream);
  expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
  expect(chunks.length).toBeGreaterThan(5);
  expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("")).toBe(whole.choices[0]!.message.content);
  expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("stop");
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
  expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
  const job = (await get(service, `/jobs/${chunks[0]!.id}`)).body;
  expect(job).toMatchObject({ status: "COMPLETED", outputs: [], cost: expect.any(Number) });
});

test("without stream_options no chunk speaks of usage", async () => {
  const service = await start();
  const stream = await clientOf(service).chat.completions.create({ model: "chat-1", messages: asked, stream: true });
  const chunks = await all(stream);
  expect(chunks.filter((chunk) => "usage" in chunk)).toEqual([]);
});

test("a schema as response_format is answered with JSON that fits, each part of its own", async () => {
  const service = await start();
  const answer = await clientOf(service).chat.completions.parse({
    model: "chat-1",
    messages: [{ role: "user", content: "Write 4 shots for a film about a fox who finds a lamp in the snow." }],
    response_format: { type: "json_schema", json_schema: { name: "shot_list", strict: true, schema: SHOTS } },
  });
  const list = JSON.parse(answer.choices[0]!.message.content ?? "");
  expect(list.shots).toHaveLength(3);
  expect(new Set(list.shots.map((shot: { prompt: string }) => shot.prompt)).size).toBe(3);
  for (const shot of list.shots) {
    expect(shot.prompt).toContain("a fox who finds a lamp in the snow");
    expect([3000, 4000, 5000]).toContain(shot.duration_ms);
  }
});

test("the client's own stream helper puts a streamed JSON answer together", async () => {
  const service = await start();
  const stream = clientOf(service).chat.completions.stream({
    model: "chat-1",
    messages: [{ role: "user", content: "Two shots of a lighthouse in a storm." }],
    response_format: { type: "json_schema", json_schema: { name: "shot_list", schema: SHOTS } },
  });
  const answer = await stream.finalChatCompletion();
  expect(JSON.parse(answer.choices[0]!.message.content ?? "").shots).toHaveLength(3);
});

test("json_object gives JSON of the shape that the prompt shows or describes", async () => {
  const service = await start();
  const json = async (content: string) => {
    const answer = await clientOf(service).chat.completions.create({
      model: "chat-1",
      messages: [{ role: "user", content }],
      response_format: { type: "json_object" },
    });
    return JSON.parse(answer.choices[0]!.message.content ?? "");
  };
  const shown = await json('Plan three scenes on a beach. Answer in JSON: {"scenes": [{"prompt": "…", "seconds": 4}]}');
  expect(shown.scenes).toHaveLength(3);
  expect(shown.scenes[0]).toEqual({ prompt: expect.stringContaining("beach"), seconds: expect.any(Number) });
  const told = await json(
    'Return JSON with an array "shots" of objects with "prompt" and "duration_ms", about a mill.',
  );
  expect(told.shots[0]).toEqual({ prompt: expect.any(String), duration_ms: expect.any(Number) });
  const schema = JSON.stringify(SHOTS);
  const stated = await json(`Answer with JSON for this schema: ${schema}\nThe film is about a mill.`);
  expect(Object.keys(stated)).toEqual(["title", "shots"]);
});

test("max_tokens cuts the answer and says so; stop sequences end it", async () => {
  const service = await start();
  const { completions } = clientOf(service).chat;
  const base = { model: "chat-1", messages: asked, temperature: 0 };
  const whole = (await completions.create(base)).choices[0]!.message.content!;
  const cut = await completions.create({ ...base, max_tokens: 3 });
  expect(cut.choices[0]).toMatchObject({ finish_reason: "length" });
  expect(whole.startsWith(cut.choices[0]!.message.content!)).toBe(true);
  expect(cut.usage?.completion_tokens).toBe(3);
  const alias = await completions.create({ ...base, max_completion_tokens: 3 });
  expect(alias.choices[0]!.message.content).toBe(cut.choices[0]!.message.content);
  const stopped = await completions.create({ ...base, stop: "," });
  expect(stopped.choices[0]!.message.content).toBe(whole.split(",")[0]);
});

test("the same request has the same answer; at temperature 0 whatever the seed, above it by the seed", async () => {
  const service = await start();
  const text = async (more: object) => {
    const answer = await clientOf(service).chat.completions.create({ model: "chat-1", messages: asked, ...more });
    return answer.choices.map((choice) => choice.message.content);
  };
  const cold = await text({ temperature: 0 });
  expect(await text({ temperature: 0, seed: 7 })).toEqual(cold);
  expect(await text({ temperature: 1, seed: 7 })).toEqual(await text({ temperature: 1, seed: 7 }));
  const seeds = await Promise.all([1, 2, 3, 4, 5, 6].map((seed) => text({ temperature: 1, seed })));
  expect(new Set(seeds.flat()).size).toBeGreaterThan(1);
});

test("the client meets our errors as its own: unknown model, wrong key, missing scope, empty wallet [A11 E18 E31 P38 WT4 WT6]", async () => {
  const service = await start();
  const create = (client: OpenAI, model = "chat-1") => client.chat.completions.create({ model, messages: asked });
  await expect(create(clientOf(service), "chat-9")).rejects.toBeInstanceOf(NotFoundError);
  await expect(create(clientOf(service, "key_x:wrong"))).rejects.toBeInstanceOf(AuthenticationError);
  const narrow = await key(service, { scopes: ["jobs:write"] });
  await expect(create(clientOf(service, narrow))).rejects.toMatchObject({
    status: 403,
    code: "PERMISSION_DENIED",
    message: expect.stringContaining("chat:write"),
  });
  const poor = await key(service, { workspace_id: "poor", scopes: ["chat:write", "usage:read"] });
  const refused = await create(clientOf(service, poor)).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(APIError);
  expect(refused).toMatchObject({ status: 402, code: "INSUFFICIENT_BALANCE", error: { billing: { required: null } } });
  const { balance } = (await get(service, "/balance", { credential: poor })).body;
  expect(refused).toMatchObject({ error: { billing: { balance } } });
});

test("a failure after the stream has begun is one error chunk and the end, and is refunded [E47 WT6]", async () => {
  const service = await start();
  service.faults([{ kind: "fail_job", model: "chat-1", code: "UNAVAILABLE" }]);
  const reply = await ask(service, "POST", "/chat/completions", {
    body: { model: "chat-1", messages: asked, stream: true },
  });
  expect(reply.status).toBe(200);
  const frames = String(reply.body).trim().split("\n\n");
  expect(JSON.parse(frames.at(-1)!.slice("data: ".length))).toEqual({
    error: { code: "UNAVAILABLE", type: "server_error", retryable: false, message: expect.any(String) },
  });
  expect(frames.length).toBeGreaterThan(2);
  expect(String(reply.body)).not.toContain("[DONE]");

  const stream = await clientOf(service).chat.completions.create({ model: "chat-1", messages: asked, stream: true });
  await expect(all(stream)).rejects.toMatchObject({ code: "UNAVAILABLE" });

  const plain = await ask(service, "POST", "/chat/completions", { body: { model: "chat-1", messages: asked } });
  expect(plain.status).toBe(503);
  expect(plain.headers.get("retry-after")).toBe("1");
  const { data } = (await get(service, "/jobs")).body;
  expect(data.map((job: { status: string; cost: number }) => [job.status, job.cost])).toEqual(
    Array(3).fill(["FAILED", 0]),
  );
  expect((await get(service, "/balance")).body.balance).toBe(25);
});
