import { APIError, AuthenticationError, NotFoundError } from "openai";
import { expect, test } from "vitest";
import { collected } from "../../support/collected.ts";
import { openAi } from "../support/open-ai.ts";
import type { Body } from "../support/service.ts";
import { chat, key, read, start } from "../support/service.ts";

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
  const answer = await openAi(service).chat.completions.create({ model: "chat-1", messages: asked });
  const message = { role: "assistant", content: expect.stringContaining("fox") };
  expect(answer).toMatchObject({ object: "chat.completion", choices: [{ message, finish_reason: "stop" }] });
  const { prompt_tokens, completion_tokens, total_tokens } = answer.usage!;
  expect(prompt_tokens).toBeGreaterThan(0);
  expect(total_tokens).toBe(prompt_tokens + completion_tokens);
  const { data } = await read(service, "/jobs");
  expect(data).toMatchObject([{ job_id: answer.id, model: "chat-1", status: "COMPLETED" }]);
  const job = await read(service, `/jobs/${answer.id}`);
  expect([job.outputs, job.cost > 0]).toEqual([[], true]);
  expect((await read(service, "/balance")).balance).toBeCloseTo(25 - job.cost, 9);
});

test("the client streams the same text in chunks, with usage only when it asks for it [S17 WT1 WT2]", async () => {
  const service = await start();
  const client = openAi(service);
  const request = { model: "chat-1", messages: asked, temperature: 0 };
  const whole = await client.chat.completions.create(request);
  const streamed = { ...request, stream: true } as const;
  const withUsage = { ...streamed, stream_options: { include_usage: true } };
  const chunks = await collected(await client.chat.completions.create(withUsage));
  expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
  expect(chunks.length).toBeGreaterThan(5);
  expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("")).toBe(whole.choices[0]!.message.content);
  expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("stop");
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
  expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
  const job = await read(service, `/jobs/${chunks[0]!.id}`);
  expect(job).toMatchObject({ status: "COMPLETED", outputs: [], cost: expect.any(Number) });
  const without = await collected(await client.chat.completions.create(streamed));
  expect(without.filter((chunk) => "usage" in chunk)).toEqual([]);
});

test("a schema as response_format is answered with JSON that fits, each part of its own, streamed or not", async () => {
  const { completions } = openAi(await start()).chat;
  const request = {
    model: "chat-1",
    messages: [
      { role: "user" as const, content: "Write 4 shots for a film about a fox who finds a lamp in the snow." },
    ],
    response_format: {
      type: "json_schema" as const,
      json_schema: { name: "shot_list", strict: true, schema: SHOTS },
    },
  };
  const answer = await completions.parse(request);
  const list = JSON.parse(answer.choices[0]!.message.content ?? "");
  expect(list.shots).toHaveLength(3);
  expect(new Set(list.shots.map((shot: { prompt: string }) => shot.prompt)).size).toBe(3);
  for (const shot of list.shots) {
    expect(shot.prompt).toContain("a fox who finds a lamp in the snow");
    expect([3000, 4000, 5000]).toContain(shot.duration_ms);
  }
  const streamed = await completions.stream(request).finalChatCompletion();
  expect(JSON.parse(streamed.choices[0]!.message.content ?? "").shots).toHaveLength(3);
});

test("json_object gives JSON of the shape that the prompt shows or describes", async () => {
  const service = await start();
  const json = async (content: string) => {
    const answer = await openAi(service).chat.completions.create({
      model: "chat-1",
      messages: [{ role: "user", content }],
      response_format: { type: "json_object" },
    });
    return JSON.parse(answer.choices[0]!.message.content ?? "");
  };
  const shown = await json('Plan three scenes on a beach. Answer in JSON: {"scenes": [{"prompt": "…", "seconds": 4}]}');
  expect(shown.scenes).toHaveLength(3);
  expect(shown.scenes[0]).toEqual({ prompt: expect.stringContaining("beach"), seconds: expect.any(Number) });
  const told = await json('Return JSON with an array "shots" of objects with "prompt" and "duration_ms", of a mill.');
  expect(told.shots[0]).toEqual({ prompt: expect.any(String), duration_ms: expect.any(Number) });
  const schema = JSON.stringify(SHOTS);
  const stated = await json(`Answer with JSON for this schema: ${schema}\nThe film is about a mill.`);
  expect(Object.keys(stated)).toEqual(["title", "shots"]);
});

test("max_tokens cuts the answer and says so; stop sequences end it", async () => {
  const service = await start();
  const { completions } = openAi(service).chat;
  const base = { model: "chat-1", messages: asked, temperature: 0 };
  const whole = (await completions.create(base)).choices[0]!.message.content!;
  const cut = await completions.create({ ...base, max_tokens: 3 });
  const { message } = cut.choices[0]!;
  expect(cut).toMatchObject({ choices: [{ finish_reason: "length" }], usage: { completion_tokens: 3 } });
  expect(whole.startsWith(message.content!)).toBe(true);
  const alias = await completions.create({ ...base, max_completion_tokens: 3 });
  expect(alias.choices[0]!.message.content).toBe(message.content);
  const stopped = await completions.create({ ...base, stop: "," });
  expect(stopped.choices[0]!.message.content).toBe(whole.split(",")[0]);
});

test("the same request has the same answer; at temperature 0 whatever the seed, above it by the seed", async () => {
  const service = await start();
  const text = async (more: object) => {
    const answer = await openAi(service).chat.completions.create({ model: "chat-1", messages: asked, ...more });
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
  const create = (client: ReturnType<typeof openAi>, model = "chat-1") =>
    client.chat.completions.create({ model, messages: asked });
  await expect(create(openAi(service), "chat-9")).rejects.toBeInstanceOf(NotFoundError);
  await expect(create(openAi(service, "key_x:wrong"))).rejects.toBeInstanceOf(AuthenticationError);
  const narrow = await key(service, { scopes: ["jobs:write"] });
  const denied = { status: 403, code: "PERMISSION_DENIED", message: expect.stringContaining("chat:write") };
  await expect(create(openAi(service, narrow))).rejects.toMatchObject(denied);
  const poor = await key(service, { workspace_id: "poor", scopes: ["chat:write", "usage:read"] });
  const refused = await create(openAi(service, poor)).catch((error: unknown) => error);
  const { balance } = await read(service, "/balance", { credential: poor });
  const billing = { required: null, balance };
  expect(refused).toBeInstanceOf(APIError);
  expect(refused).toMatchObject({ status: 402, code: "INSUFFICIENT_BALANCE", error: { billing } });
});

test("a failure after the stream has begun is one error chunk and the end, and is refunded [E47 WT6]", async () => {
  const service = await start();
  service.faults([{ kind: "fail_job", model: "chat-1", code: "UNAVAILABLE" }]);
  const reply = await chat(service, "A fox.", { stream: true });
  expect(reply.status).toBe(200);
  const frames = String(reply.body).trim().split("\n\n");
  const error = { code: "UNAVAILABLE", type: "server_error", retryable: false, message: expect.any(String) };
  expect(JSON.parse(frames.at(-1)!.slice("data: ".length))).toEqual({ error });
  expect(frames.length).toBeGreaterThan(2);
  expect(String(reply.body)).not.toContain("[DONE]");
  const stream = await openAi(service).chat.completions.create({ model: "chat-1", messages: asked, stream: true });
  await expect(collected(stream)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  const plain = await chat(service, "A fox.");
  expect([plain.status, plain.headers.get("retry-after")]).toEqual([503, "1"]);
  const { data } = await read(service, "/jobs");
  expect(data.map(({ status, cost }: Body) => [status, cost])).toEqual(Array(3).fill(["FAILED", 0]));
  expect((await read(service, "/balance")).balance).toBe(25);
});
