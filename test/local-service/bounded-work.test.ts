import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonExcess, MAX_DEPTH, MAX_FIELDS, MAX_VALUES } from "../../src/local-service/http/body.ts";
import type { LocalService } from "../../src/local-service/index.ts";
import { sampled } from "../support/sample.ts";
import { ask, type Body, read, start } from "./support/service.ts";

const LARGEST_ANSWER_BYTES = 30_000;

/** Sends a text as it is; gives status, the answer's size and the answer. */
async function send(service: LocalService, method: string, path: string, body: string) {
  const headers = { Authorization: `Bearer ${service.apiKey}`, "Content-Type": "application/json" };
  const url = path.startsWith("/_local") ? new URL(path, service.baseUrl) : service.baseUrl + path;
  const response = await fetch(url, { method, headers, body });
  const text = await response.text();
  const error: Body = response.status < 400 ? null : JSON.parse(text).error;
  return { status: response.status, bytes: text.length, error };
}

const fields = (count: number) => Array.from({ length: count }, (_, index) => `"${index.toString(36)}":1`).join();

test("a body with too many values, fields or levels is refused by its reason, and one within them is read [bounded work]", async () => {
  const service = await start();
  const cases: readonly (readonly [string, string])[] = [
    [`{"input":[${"0,".repeat(MAX_VALUES)}0]}`, "max_values"],
    [`{"input":[${"{},".repeat(MAX_VALUES)}{}]}`, "max_values"],
    [`{"input":{${fields(MAX_FIELDS + 1)}}}`, "max_fields"],
    ["[".repeat(1_000_000), "max_depth"],
    [`{"input":${"[".repeat(MAX_DEPTH)}${"]".repeat(MAX_DEPTH)}}`, "max_depth"],
  ];
  for (const [body, reason] of cases) {
    const refused = await send(service, "POST", "/models/image-1/estimate", body);
    expect([refused.status, refused.error.details[0].reason, refused.bytes < 1000]).toEqual([400, reason, true]);
  }
  const within = await send(service, "POST", "/models/image-1/estimate", `{"input":{${fields(MAX_FIELDS)}}}`);
  expect(within.error.details).toHaveLength(100);
  expect(within.error.message).toContain(`${MAX_FIELDS + 1} invalid input fields`);
  expect(within.error.message).toContain(`omits ${MAX_FIELDS + 1 - 100}.`);
});

/** What the count of a whole text must say, told from the parsed value. */
function shapeOf(value: unknown, depth = 0): { readonly values: number; readonly depth: number } {
  if (typeof value !== "object" || value === null) return { values: 0, depth };
  const children = Object.values(value).map((child) => shapeOf(child, depth + 1));
  return {
    values: 1 + Math.max(0, children.length - 1) + children.reduce((sum, child) => sum + child.values, 0),
    depth: Math.max(depth + 1, ...children.map((child) => child.depth)),
  };
}

test("the size of a JSON text is that of its values, whatever its strings hold", () => {
  const strings = fc.string({ unit: fc.constantFrom('"', "\\", ",", "{", "}", "[", "]", "a", "é") });
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      strings,
      fc.integer(),
      fc.array(tie("tree"), { maxLength: 4 }),
      fc.dictionary(strings, tie("tree"), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(tree, (value) => {
      const shape = shapeOf(value);
      const fillers = "[]".repeat(MAX_VALUES - shape.values);
      const text = JSON.stringify(value);
      // It has counted exactly the values that there are: so many more fit, and not one beyond.
      expect(jsonExcess(text + fillers)).toBeNull();
      expect(jsonExcess(`${text}${fillers}[]`)).toBe("max_values");
      if (shape.depth < MAX_DEPTH) {
        expect(jsonExcess("[".repeat(MAX_DEPTH - shape.depth) + text)).toBeNull();
        expect(jsonExcess("[".repeat(MAX_DEPTH - shape.depth + 1) + text)).toBe("max_depth");
      }
    }),
  );
});

/** Every field that a body of the API may hold, found in the service's own documents. */
async function jsonEndpoints(service: LocalService) {
  const found: { readonly method: string; readonly path: string; readonly fields: readonly string[] }[] = [];
  for (const prefix of ["", "/_local"]) {
    const document = await read(service, `${prefix}/openapi.json`);
    for (const [path, item] of Object.entries<Body>(document.paths)) {
      for (const [method, operation] of Object.entries<Body>(item)) {
        const schema = operation.requestBody?.content?.["application/json"]?.schema;
        if (schema) found.push({ method, path: prefix + path, fields: Object.keys(schema.properties ?? {}) });
      }
    }
  }
  return found;
}

const TYPED = { chat: { model: "chat-1", messages: [{ role: "user", content: "x" }] } };

test("no text of a body is accepted, stored or repeated without a limit, whatever field holds it", async () => {
  const service = await start();
  const huge = "x".repeat(2 * LARGEST_ANSWER_BYTES);
  const endpoints = await jsonEndpoints(service);
  expect(endpoints.length).toBeGreaterThanOrEqual(18);
  for (const { method, path, fields: names } of endpoints) {
    const filled = path.replaceAll(/\{\w+\}/g, "image-1");
    for (const name of sampled([...names, huge], 20)) {
      const bodies = [
        { [name]: huge },
        { [name]: [huge] },
        { [name]: { [huge]: huge } },
        { ...TYPED.chat, [name]: huge },
      ];
      for (const body of bodies) {
        const { status, bytes } = await send(service, method.toUpperCase(), filled, JSON.stringify(body));
        const where = [method, path, name.slice(0, 40)];
        expect([...where, status < 500, bytes < LARGEST_ANSWER_BYTES]).toEqual([...where, true, true]);
      }
    }
  }
  const kept = JSON.stringify([
    await read(service, "/keys?limit=100"),
    await read(service, "/log-drains?limit=100"),
    await read(service, "/webhooks/default"),
    await read(service, "/_local/stats"),
    await read(service, "/_local/faults"),
  ]);
  expect(kept.length).toBeLessThan(LARGEST_ANSWER_BYTES);
});

const SECRET = "s".repeat(64);

test.each([
  ["a job's webhook", "POST", "/models/image-1", "webhook", (webhook: string) => ({ input: { prompt: "x" }, webhook })],
  ["a default webhook", "PUT", "/webhooks/default", "url", (url: string) => ({ url })],
  ["a drain", "POST", "/log-drains", "url", (url: string) => ({ name: "d", url, secret: SECRET })],
] as const)("the URL of %s has at most 8192 characters", async (_, method, path, field, bodyOf) => {
  const service = await start();
  const send = (length: number) =>
    ask(service, method, path, { body: bodyOf(`http://127.0.0.1:9/${"x".repeat(length - 19)}`) });
  const refused = await send(8193);
  expect([refused.status, refused.body.error.details]).toEqual([
    400,
    [{ field, message: `${field}: has more than 8192 characters`, reason: "maxLength", allowed: null }],
  ]);
  expect((await send(8192)).status).toBeLessThan(300);
});

test("a list of references as long as a body may hold is answered small", async () => {
  const service = await start();
  const asset = () => ({ source: "asset", asset_id: `asset_${randomBytes(4).toString("hex")}` });
  const images = Array.from({ length: MAX_VALUES / 3 }, asset);
  const body = JSON.stringify({ input: { prompt: "x", images } });
  const { status, bytes, error } = await send(service, "POST", "/models/image-1/estimate", body);
  expect([status, error.details.length <= 100, bytes < LARGEST_ANSWER_BYTES]).toEqual([400, true, true]);
});
