import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createOutput } from "../../../src/cli/io.ts";
import { whileWorking } from "../../../src/cli/live/watch.ts";
import { createClient } from "../../../src/core/api/index.ts";
import { typedInputs } from "../../../src/core/catalog/fetch.ts";
import { fetchCatalog, pullCatalog } from "../../../src/core/catalog/index.ts";
import { type LocalServiceOptions, startLocalService } from "../../../src/local-service/index.ts";
import { apiDocument, modelDocument, modelNames } from "../../../src/local-service/openapi/document.ts";
import { fakeIo } from "../../cli/support/fake-io.ts";

const TEXT = { type: "string" };
/** What catalogs publish that a document has to move: definitions, circles, tuples, references that need escapes. */
const ODD = {
  type: "object",
  description: "Accepted field combinations (one per input mode):\n(1) requires: prompt",
  additionalProperties: false,
  required: ["prompt"],
  properties: {
    prompt: { $ref: "#/$defs/Prompt" },
    shots: {
      type: "array",
      prefixItems: [{ $ref: "#/$defs/Shot" }, { $ref: "#/$defs/Shot" }],
      minItems: 2,
      maxItems: 2,
    },
    start_image: {
      oneOf: [{ $ref: "#/$defs/url~1~0 form" }, { $ref: "#/$defs/Asset" }],
      discriminator: { propertyName: "source", mapping: { url: "#/$defs/url~1~0 form", asset: "#/$defs/Asset" } },
    },
    again: { $ref: "#/properties/prompt" },
  },
  $defs: {
    Prompt: { type: "string", maxLength: 2500 },
    Shot: { type: "object", properties: { text: TEXT, next: { $ref: "#/$defs/Shot" } } },
    "url/~ form": { type: "object", properties: { source: { const: "url" }, url: TEXT }, required: ["source"] },
    Asset: { type: "object", properties: { source: { const: "asset" }, asset_id: TEXT }, required: ["source"] },
  },
};

function model(id: string, modality = "image", input_schema: unknown = ODD) {
  return { id, modality, name: id.toUpperCase(), description: "d", price_description: "p", input_schema };
}

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  vi.useRealTimers();
});

async function started(options: LocalServiceOptions) {
  const service = await startLocalService({ renderer: "stub", ...options });
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
  closing.push(
    () => service.close(),
    () => client.close(),
  );
  return { service, client };
}

describe("a catalog is pulled", () => {
  const catalog = [
    ...Array.from({ length: 70 }, (_, n) => model(`m-${n}`, n % 2 === 0 ? "image" : "video")),
    ...["vendor/model", "veo-3.1", "veo-31", "späte 100%"].map((id) => model(id)),
    ...[model("speech-9", "audio", { type: "object", properties: { text: TEXT } }), model("clone-9", "audio")],
  ];

  test("of 76 models within a limit of 60 requests a minute, at once", async () => {
    const { client, service } = await started({ catalog, rateLimit: { requests: 60, windowMs: 60_000 } });
    const pulled = await pullCatalog(client, null);
    expect(pulled.models()).toHaveLength(76);
    // The document, the list, and the audio models, whose output schemas say what they make.
    expect(service.stats().requests).toEqual({
      "GET /openapi.json": { 200: 1 },
      "GET /models": { 200: 1 },
      "GET /models/{model}": { 200: 2 },
    });
  });

  test("with the same models, in the same order, as when each is read by itself", async () => {
    const { client } = await started({ catalog });
    const whole = (await pullCatalog(client, null)).models();
    const single = (await fetchCatalog(client)).models();
    expect(whole.map(({ outputSchema: _, ...model }) => model)).toEqual(
      single.map(({ outputSchema: _, ...model }) => model),
    );
    expect(whole.find(({ id }) => id === "clone-9")?.outputSchema).not.toEqual({});
  });

  test("one by one where the service has no such document, saying how far it is", async () => {
    const { client } = await started({});
    const openapi = () => Promise.reject(new Error("404"));
    const onProgress = vi.fn();
    const pulled = await pullCatalog({ models: client.models, model: client.model, openapi }, null, { onProgress });
    const all = (await fetchCatalog(client)).models();
    expect(pulled.models()).toEqual(all);
    expect(onProgress.mock.calls).toEqual(all.map((_, n) => [n + 1, all.length]));
  });

  test("with an output schema that was known before, where the document has none", async () => {
    const { client } = await started({});
    const before = await fetchCatalog(client);
    expect((await pullCatalog(client, before)).models()).toEqual(before.models());
  });
});

describe("a document's typed inputs", () => {
  const MODELS = ["flat", "a/b", "x 1"];
  const own = (schema: object) => ({ ...schema, $defs: expect.anything() });

  test("are found whether they stand in the operation or among the components", () => {
    const entry = (id: string) => ({ ...model(id), output_schema: {}, logo_url: null }) as never;
    const names = modelNames(MODELS);
    const whole = apiDocument([], MODELS.map(entry), { brand: "Studio", unquotableCost: "null" });
    for (const id of MODELS) {
      expect(typedInputs(whole).get(id)).toEqual(ODD);
      expect(typedInputs({ ...modelDocument(entry(id), names.get(id)!) }).get(id)).toEqual(ODD);
    }
  });

  test("are found behind references of every part, below a version, with what they share brought along", () => {
    const document = {
      paths: {
        "/v3/models/far": { post: { requestBody: { $ref: "#/components/requestBodies/Far" } } },
        "/v3/models/{model}": { post: { requestBody: { content: { "application/json": { schema: {} } } } } },
        "/v3/models/far/estimate": { post: {} },
      },
      components: {
        requestBodies: {
          Far: { content: { "application/json; charset=utf-8": { schema: { $ref: "#/components/schemas/Body" } } } },
        },
        schemas: {
          Body: { properties: { input: { $ref: "#/components/schemas/FarInput" } } },
          FarInput: { properties: { media: { $ref: "#/components/schemas/Tree" }, Tree: {} }, $defs: { Tree: TEXT } },
          Tree: {
            properties: { left: { $ref: "#/components/schemas/Tree" }, "a/b": { $ref: "#/components/schemas/a~1b" } },
          },
          "a/b": TEXT,
        },
      },
    };
    expect([...typedInputs(document)]).toEqual([
      [
        "far",
        own({
          properties: { media: { $ref: "#/$defs/Tree_2" }, Tree: {} },
          $defs: {
            Tree: TEXT,
            Tree_2: { properties: { left: { $ref: "#/$defs/Tree_2" }, "a/b": { $ref: "#/$defs/a_1b" } } },
            a_1b: TEXT,
          },
        }),
      ],
    ]);
  });

  test.each([
    ["no paths", {}],
    ["paths that are a text", { paths: "none" }],
    ["a reference to nothing", within({ $ref: "#/components/schemas/None" })],
    [
      "a reference to itself",
      within({ $ref: "#/paths/~1models~1m/post/requestBody/content/application~1json/schema/properties/input" }),
    ],
    ["a schema with a part that is not there", within({ properties: { a: { $ref: "#/components/schemas/None" } } })],
    ["an id that is no text", { paths: { "/models/%E0%A4%A": { post: {} } } }],
  ])("of %s are none", (_, document) => {
    expect([...typedInputs(document)]).toEqual([]);
  });

  test("are the schemas of the catalog, whatever these refer to within themselves", () => {
    const ref = fc.constantFrom("#", "#/$defs/a", "#/$defs/b", "#/properties/p").map(($ref) => ({ $ref }));
    const schema = fc.letrec((tie) => ({
      node: fc.oneof({ maxDepth: 4 }, ref, fc.constant(TEXT), tie("items"), tie("some"), tie("object")),
      items: fc.record({ items: tie("node") }),
      some: fc.record({ anyOf: fc.array(tie("node"), { minLength: 1, maxLength: 3 }) }),
      object: fc.record({ properties: fc.dictionary(fc.string({ maxLength: 4 }), tie("node"), { maxKeys: 3 }) }),
    })).node;
    const input = fc.record({
      type: fc.constant("object"),
      properties: fc.record({ p: schema }),
      $defs: fc.record({ a: schema, b: schema }),
    });
    fc.assert(
      fc.property(
        input,
        fc.string({ minLength: 1 }).filter((id) => id.isWellFormed() && !/[{}]/.test(id)),
        (input_schema, id) => {
          const entry = { ...model(id, "image", input_schema), output_schema: {}, logo_url: null } as never;
          const document = apiDocument([], [entry], { brand: "Studio", unquotableCost: "null" });
          expect(typedInputs(document).get(id)).toEqual(input_schema);
        },
      ),
    );
  });
});

function within(input: object) {
  const schema = { properties: { input } };
  return { paths: { "/models/m": { post: { requestBody: { content: { "application/json": { schema } } } } } } };
}

test("long work says what it does after a second, also where nobody watches a terminal", async () => {
  vi.useFakeTimers();
  const { io, stderr } = fakeIo({ terminal: { isTTY: false } });
  const { promise, resolve } = Promise.withResolvers<void>();
  const work = whileWorking({ io, output: createOutput(io), args: [] }, "read 3 of 76 models", () => promise);
  await vi.advanceTimersByTimeAsync(999);
  expect(stderr()).toBe("");
  await vi.advanceTimersByTimeAsync(1);
  expect(stderr()).toContain("read 3 of 76 models");
  resolve();
  await work;
  expect(vi.getTimerCount()).toBe(0);
});
