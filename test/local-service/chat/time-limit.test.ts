import { expect, test, vi } from "vitest";

/** Modules of their own: a validator that nobody has used yet. */
async function freshEngine() {
  vi.resetModules();
  const check = await import("../../../src/local-service/chat/engine/json-answer.ts");
  const limit = await import("../../../src/local-service/validate/time-limit.ts");
  const { answerTo } = await import("../../../src/local-service/chat/engine/answer.ts");
  const { readChatRequest } = await import("../../../src/local-service/chat/request.ts");
  return { ...check, ...limit, answerTo, readChatRequest };
}

const schema = { type: "object", properties: { title: { type: "string" } }, required: ["title"] };

test("a schema chat that runs out of time, wherever it is stopped, leaves every later one answerable", async () => {
  let stopped = 0;
  for (const ms of [1, 2, 3, 5, 8, 13, 21]) {
    const { withinTime, withSchemaCheck, answerTo, readChatRequest } = await freshEngine();
    try {
      withinTime(ms, () => withSchemaCheck({ ...schema }, (fits) => fits({ title: "x" })));
    } catch {
      stopped += 1;
    }
    const request = readChatRequest({
      model: "chat-1",
      messages: [{ role: "user", content: "A film." }],
      response_format: { type: "json_schema", json_schema: { name: "film", schema } },
    });
    expect(JSON.parse(answerTo(request, 0)), `stopped after ${ms} ms`).toEqual({ title: expect.any(String) });
  }
  expect(stopped).toBeGreaterThan(0);
});
