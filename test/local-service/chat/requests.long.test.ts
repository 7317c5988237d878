import { createCanvas } from "@napi-rs/canvas";
import fc from "fast-check";
import { expect, test } from "vitest";
import { greyPng } from "../../../src/core/kit/placeholder-media.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { words } from "../../support/word-list.ts";
import { ask, type Body, chat, post, read, start, startHeld, until } from "../support/service.ts";

const inline = (png: Uint8Array) => `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
const PATH = "/chat/completions";
const said = { model: "chat-1", messages: [{ role: "user", content: "Describe a mill." }] };

test("all bad fields are listed at once, with their places", async () => {
  const service = await start();
  const wrong = { messages: [{ role: "robot", content: 1 }], temperature: 3, n: 0, max_tokens: 0, stop: 1 };
  const { status, body } = await post(service, PATH, { model: "chat-1", ...wrong });
  expect(status).toBe(400);
  const fields = body.error.details.map((detail: Body) => detail.field);
  expect(fields).toEqual(expect.arrayContaining(words("messages[0].role temperature n max_tokens stop")));
  expect((await read(service, "/jobs")).data).toEqual([]);
});

test("nulls, text parts and a list of tools are accepted as common clients send them [WK3]", async () => {
  const service = await start();
  const image = { type: "image_url", image_url: { url: inline(greyPng(8)) } };
  const body = {
    ...said,
    messages: [
      { role: "developer", content: "Be short.", name: null },
      { role: "user", content: [{ type: "text", text: "Describe a mill." }, image] },
      { role: "assistant", content: null, tool_calls: [] },
    ],
    ...{ temperature: null, max_tokens: null, stop: null, stream: null, response_format: { type: "text" } },
    ...{ tools: [], tool_choice: "auto", user: "someone" },
  };
  const { status, body: answer } = await post(service, PATH, body);
  expect(status).toBe(200);
  expect(answer.choices[0].message.content).toContain("mill");
  const demanded = await post(service, PATH, { ...said, tool_choice: "required" });
  expect(demanded.body.error).toMatchObject({ code: "INVALID_ARGUMENT", param: "tool_choice" });
});

test("a chat has no idempotency key: the same request twice is two jobs [WT5]", async () => {
  const service = await start();
  const first = await post(service, PATH, said);
  const second = await post(service, PATH, said);
  expect(second.body.id).not.toBe(first.body.id);
  expect(second.headers.get("x-idempotent-replayed")).toBeNull();
  expect(service.stats().jobs_by_key).toEqual({});
});

test("a chat job has the logs and the stream of any job, and can be deleted [WT3]", async () => {
  const service = await start();
  const { id } = (await post(service, PATH, said)).body;
  const { data } = await read(service, `/jobs/${id}/logs`);
  expect(data.map((event: Body) => event.event)).toEqual(
    words("queued moderation.passed started provider.submitted finalizing completed"),
  );
  expect(await read(service, `/jobs/${id}/stream`)).toContain("event: done");
  expect((await read(service, `/jobs/${id}`)).prompt).toBe("Describe a mill.");
  expect((await ask(service, "DELETE", `/jobs/${id}`)).status).toBe(204);
  const job = await read(service, `/jobs/${id}`);
  expect([job.status, job.outputs, "prompt" in job]).toEqual(["COMPLETED", [], false]);
});

test("a reader that leaves does not stop the work: the job completes and is paid", async () => {
  const service = await startHeld({ speed: 1 });
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
  const service = await startHeld({ dataDir, speed: 1 });
  const asked = post(service, PATH, { ...said, stream: true });
  await until(service, "/jobs", (page) => page.data.length === 1);
  await service.close();
  const [, last = ""] = /data: ([^\n]*)\n*$/.exec((await asked).body) ?? [];
  expect(JSON.parse(last).error.code).toBe("UNAVAILABLE");
  const again = await start({ dataDir });
  const { data } = await read(again, "/jobs");
  expect(data).toMatchObject([{ model: "chat-1", status: "FAILED", cost: 0 }]);
  expect((await read(again, "/balance")).balance).toBe(25);
});

test("the cut of a stream by a fault is met as such", async () => {
  const service = await start();
  service.faults([{ kind: "cut_stream", after_frames: 2, model: "chat-1" }]);
  const { body } = await post(service, PATH, { ...said, stream: true });
  expect(String(body).trim().split("\n\n")).toHaveLength(2);
});

test("whatever is sent, the answer is a completion or a 4xx in the envelope, and the wallet pays for completions only", async () => {
  const service = await start();
  const names = words("messages stream temperature max_tokens n stop response_format seed tool_choice");
  const messages = fc.array(
    fc.record({ role: fc.constantFrom("user", "system", "robot"), content: fc.oneof(fc.string(), fc.jsonValue()) }),
  );
  const body = fc
    .tuple(fc.dictionary(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 3 })), fc.option(messages))
    .map(([fields, said]) => ({ model: "chat-1", ...fields, ...(said ? { messages: said } : {}) }));
  const property = fc.asyncProperty(body, async (sent) => {
    const { status } = await post(service, PATH, sent);
    expect([200, 400]).toContain(status);
  });
  await fc.assert(property, { numRuns: Number(process.env["SHOWRUNNER_TEST_RUNS"] ?? 25) });
  const { balance, spent } = await read(service, "/balance");
  expect(balance + spent).toBeCloseTo(25, 9);
  expect((await read(service, "/jobs")).data.every((job: Body) => job.status === "COMPLETED")).toBe(true);
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
  for (const content of slow) expect([200, 400]).toContain((await chat(service, content)).status);
  expect((await chat(service, "x".repeat(1_000_001))).body.error).toMatchObject({ param: "messages" });
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
    const { status, body } = await post(service, PATH, { model: "chat-1", messages, response_format });
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
