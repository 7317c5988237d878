import { createCanvas } from "@napi-rs/canvas";
import fc from "fast-check";
import { expect, test } from "vitest";
import { greyPng } from "../../../src/core/kit/placeholder-media.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { ask, type Body, get, start, until } from "../support/service.ts";

const inline = (png: Uint8Array) => `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
const PATH = "/chat/completions";
const said = { model: "chat-1", messages: [{ role: "user", content: "Describe a mill." }] };

test("all bad fields are listed at once, with their places", async () => {
  const service = await start();
  const body = {
    model: "chat-1",
    messages: [{ role: "robot", content: 1 }],
    temperature: 3,
    n: 0,
    max_tokens: 0,
    stop: 1,
  };
  const { status, body: answer } = await ask(service, "POST", PATH, { body });
  expect(status).toBe(400);
  const fields = answer.error.details.map((detail: Body) => detail.field);
  expect(fields).toEqual(expect.arrayContaining(["messages[0].role", "temperature", "n", "max_tokens", "stop"]));
  expect((await get(service, "/jobs")).body.data).toEqual([]);
});

test("nulls, text parts and a list of tools are accepted as common clients send them [WK3]", async () => {
  const service = await start();
  const body = {
    ...said,
    messages: [
      { role: "developer", content: "Be short.", name: null },
      {
        role: "user",
        content: [
          { type: "text", text: "Describe a mill." },
          { type: "image_url", image_url: { url: inline(greyPng(8)) } },
        ],
      },
      { role: "assistant", content: null, tool_calls: [] },
    ],
    temperature: null,
    max_tokens: null,
    stop: null,
    stream: null,
    response_format: { type: "text" },
    tools: [],
    tool_choice: "auto",
    user: "someone",
  };
  const { status, body: answer } = await ask(service, "POST", PATH, { body });
  expect(status).toBe(200);
  expect(answer.choices[0].message.content).toContain("mill");
  const demanded = await ask(service, "POST", PATH, { body: { ...said, tool_choice: "required" } });
  expect(demanded.body.error).toMatchObject({ code: "INVALID_ARGUMENT", param: "tool_choice" });
});

test("a chat has no idempotency key: the same request twice is two jobs [WT5]", async () => {
  const service = await start();
  const first = await ask(service, "POST", PATH, { body: said });
  const second = await ask(service, "POST", PATH, { body: said });
  expect(second.body.id).not.toBe(first.body.id);
  expect(second.headers.get("x-idempotent-replayed")).toBeNull();
  expect(service.stats().jobs_by_key).toEqual({});
});

test("a chat job has the logs and the stream of any job, and can be deleted [WT3]", async () => {
  const service = await start();
  const { id } = (await ask(service, "POST", PATH, { body: said })).body;
  const { data } = (await get(service, `/jobs/${id}/logs`)).body;
  expect(data.map((event: Body) => event.event)).toEqual([
    "queued",
    "moderation.passed",
    "started",
    "provider.submitted",
    "finalizing",
    "completed",
  ]);
  expect((await get(service, `/jobs/${id}/stream`)).body).toContain("event: done");
  expect((await get(service, `/jobs/${id}`)).body.prompt).toBe("Describe a mill.");
  expect((await ask(service, "DELETE", `/jobs/${id}`)).status).toBe(204);
  const job = (await get(service, `/jobs/${id}`)).body;
  expect([job.status, job.outputs, "prompt" in job]).toEqual(["COMPLETED", [], false]);
});

test("a reader that leaves does not stop the work: the job completes and is paid", async () => {
  const service = await start({ speed: 1 });
  service.clock.manual();
  const leave = new AbortController();
  const response = await fetch(`${service.baseUrl}${PATH}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${service.apiKey}`, "Content-Type": "application/json" },
    body: JSON.stringify({ ...said, stream: true }),
    signal: leave.signal,
  });
  expect(response.status).toBe(200);
  leave.abort();
  await until(service, "/_local/stats", (stats) => stats.open_streams === 1);
  await service.clock.advance(60_000);
  const { data } = await until(service, "/jobs", (page) => page.data[0].status === "COMPLETED");
  expect(data[0].cost).toBeGreaterThan(0);
});

test("a chat that the service's end interrupts is failed and refunded at the next start", async () => {
  const dataDir = newFolder();
  const service = await start({ dataDir, speed: 1 });
  service.clock.manual();
  const asked = ask(service, "POST", PATH, { body: { ...said, stream: true } });
  await until(service, "/jobs", (page) => page.data.length === 1);
  await service.close();
  const frames = String((await asked).body)
    .trim()
    .split("\n\n");
  expect(JSON.parse(frames.at(-1)!.slice("data: ".length)).error.code).toBe("UNAVAILABLE");
  const again = await start({ dataDir });
  const { data } = (await get(again, "/jobs")).body;
  expect(data).toMatchObject([{ model: "chat-1", status: "FAILED", cost: 0 }]);
  expect((await get(again, "/balance")).body.balance).toBe(25);
});

test("the cut of a stream by a fault is met as such", async () => {
  const service = await start();
  service.faults([{ kind: "cut_stream", after_frames: 2, model: "chat-1" }]);
  const { body } = await ask(service, "POST", PATH, { body: { ...said, stream: true } });
  expect(String(body).trim().split("\n\n")).toHaveLength(2);
});

test("whatever is sent, the answer is a completion or a 4xx in the envelope, and the wallet pays for completions only", async () => {
  const service = await start();
  const names = [
    "messages",
    "stream",
    "temperature",
    "max_tokens",
    "n",
    "stop",
    "response_format",
    "seed",
    "tool_choice",
  ];
  const messages = fc.array(
    fc.record({ role: fc.constantFrom("user", "system", "robot"), content: fc.oneof(fc.string(), fc.jsonValue()) }),
  );
  const body = fc
    .tuple(fc.dictionary(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 3 })), fc.option(messages))
    .map(([fields, said]) => ({ model: "chat-1", ...fields, ...(said ? { messages: said } : {}) }));
  const property = fc.asyncProperty(body, async (sent) => {
    const { status } = await ask(service, "POST", PATH, { body: sent });
    expect([200, 400]).toContain(status);
  });
  await fc.assert(property, { numRuns: Number(process.env["SHOWRUNNER_TEST_RUNS"] ?? 25) });
  const { balance, spent } = (await get(service, "/balance")).body;
  expect(balance + spent).toBeCloseTo(25, 9);
  expect((await get(service, "/jobs")).body.data.every((job: Body) => job.status === "COMPLETED")).toBe(true);
});

test("prompts made to be slow are answered or refused, none hangs", async () => {
  const service = await start();
  const slow = [
    "“".repeat(900_000),
    "a ".repeat(450_000),
    "{".repeat(900_000),
    `fields: ${"a and ".repeat(150_000)}`,
    "((((".repeat(200_000),
  ];
  for (const content of slow) {
    const { status } = await ask(service, "POST", PATH, { body: { ...said, messages: [{ role: "user", content }] } });
    expect([200, 400]).toContain(status);
  }
  const tooLong = { ...said, messages: [{ role: "user", content: "x".repeat(1_000_001) }] };
  expect((await ask(service, "POST", PATH, { body: tooLong })).body.error).toMatchObject({ param: "messages" });
});

const blackPng = async () => Buffer.from(await createCanvas(32, 16).encode("png"));
const verdict = {
  type: "object",
  properties: { pass: { type: "boolean" }, reasons: { type: "array", items: { type: "string" } } },
  required: ["pass", "reasons"],
  additionalProperties: false,
};

test("a verdict of pictures passes all but black ones, and each picture is charged", async () => {
  const service = await start();
  const judge = async (schema: object, ...pictures: readonly string[]) => {
    const images = pictures.map((url) => ({ type: "image_url", image_url: { url } }));
    const messages = [{ role: "user", content: [{ type: "text", text: "Is there a boat?" }, ...images] }];
    const response_format = { type: "json_schema", json_schema: { name: "verdict", schema } };
    const { status, body } = await ask(service, "POST", PATH, { body: { model: "chat-1", messages, response_format } });
    return status === 200
      ? { ...JSON.parse(body.choices[0].message.content), tokens: body.usage.prompt_tokens }
      : { status, field: body.error.details[0].field };
  };
  const [grey, black] = [inline(greyPng(8)), inline(await blackPng())];
  const one = await judge(verdict, grey);
  const two = await judge(verdict, grey, black);
  expect([one, two]).toMatchObject([
    { pass: true, reasons: [] },
    { pass: false, reasons: ["image 2 is black"] },
  ]);
  expect(two.tokens - one.tokens).toBe(85);
  const never = { ...verdict, properties: { ...verdict.properties, pass: { const: true } } };
  expect(await judge(never, black)).toMatchObject({ pass: true });
  expect(await judge(verdict, "data:image/png;base64,AAAA")).toEqual({ status: 400, field: "messages" });
});
