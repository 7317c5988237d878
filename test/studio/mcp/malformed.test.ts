import { JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { malformedLine } from "../../../src/studio/mcp/server.ts";
import { type RawClient, rawClient, type SessionWorld, sessionWorld } from "./support/in-memory.ts";

let world: SessionWorld;
let client: RawClient;
let sent = 0;
beforeAll(async () => {
  world = await sessionWorld(100_000);
  client = await rawClient(world.session);
});
afterAll(() => world[Symbol.asyncDispose]());

const METHODS = [
  ...["tools/call", "tools/list", "resources/read", "resources/list", "prompts/get", "tasks/get", "tasks/result"],
  ...["tasks/list", "tasks/cancel", "ping", "initialize", "__proto__", "constructor", "toString", "", "none/such"],
];
/** With the names that the protocol gives a meaning, each with a value that it may not have. */
const params = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.dictionary(
    fc.constantFrom("name", "arguments", "task", "taskId", "uri", "cursor", "_meta", "progressToken", "__proto__"),
    fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom("run_status", "list_runs", "make", { progressToken: {} }, { ttl: "x" }, { taskId: 5 }),
    ),
  ),
);
const request = fc.record(
  {
    jsonrpc: fc.constantFrom("2.0", "1.0", 2, null),
    method: fc.constantFrom(...METHODS, 5, null),
    params,
    extra: params,
  },
  { requiredKeys: ["jsonrpc", "method"] },
);

test("every request is answered under its id, and one that is no message with an error", async () => {
  await fc.assert(
    fc.asyncProperty(request, fc.boolean(), async (given, isText) => {
      sent += 1;
      const id = isText ? `id-${sent}` : sent;
      const message = { ...given, id };
      client.send(message);
      const answer = await client.until((one) => one.id === id && !("method" in one));
      if (!JSONRPCMessageSchema.safeParse(message).success) expect(answer.error?.code).toBe(-32_600);
      expect("result" in answer !== "error" in answer).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test("a tool that is called with what is no call is an error", async () => {
  for (const params of [undefined, null, 5, "x", [], {}, { name: 5 }, { name: "list_runs", arguments: [] }]) {
    sent += 1;
    const id = `call-${sent}`;
    client.send({ jsonrpc: "2.0", id, method: "tools/call", params });
    const { error } = await client.until((one) => one.id === id);
    expect(error, JSON.stringify(params)).toMatchObject({ code: expect.any(Number), message: expect.any(String) });
  }
});

test("a line is passed on where it is a message, and answered where it is none", async () => {
  fc.assert(
    fc.property(request, fc.integer(), (given, id) => {
      const message = { ...given, id };
      const answer = malformedLine(`${JSON.stringify(message)}\n`);
      if (JSONRPCMessageSchema.safeParse(JSON.parse(JSON.stringify(message))).success) expect(answer).toBeNull();
      else expect(answer).toMatchObject({ jsonrpc: "2.0", id, error: { code: -32_600 } });
    }),
  );
  expect(malformedLine("{ no json\n")).toMatchObject({ error: { code: -32_700 } });
  expect(malformedLine("[]\n")).toMatchObject({ error: { code: -32_600 } });
  expect(malformedLine("\r\n")).toBeNull();
  // What asks for no answer, and what answers us, gets none under an id.
  expect(malformedLine('{"jsonrpc":"2.0","method":"x","params":5}\n')).toBeNull();
  expect(malformedLine('{"jsonrpc":"2.0","id":0,"result":5}\n')).not.toHaveProperty("id");
});
