import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { askableOf } from "../../../src/local-service/recording/askable.ts";
import { driftOf } from "../../../src/local-service/recording/drift.ts";

const ok = (request: string, answer: unknown, body?: unknown) => ({ request, status: 200, answer, body });
const found = (request: string, was: unknown, is: unknown) =>
  driftOf(ok(request, was), ok(request, is)).map(({ field, message }) => `${field}: ${message}`);

const model = (input: object, more: object = {}) => ({
  id: "image-1",
  modality: "image",
  input_schema: { type: "object", properties: { prompt: { type: "string", ...input } } },
  ...more,
});

describe("what has moved", () => {
  test.each<[string, string, unknown, unknown, readonly string[]]>([
    [
      "a field that is missing",
      "GET /models/a/voices",
      { data: [{ id: "v", name: "x" }] },
      { data: [{ id: "w" }] },
      ["data[].name: is missing"],
    ],
    [
      "a field that is new",
      "GET /models/a/voices",
      { data: [{ id: "v" }] },
      { data: [{ id: "w", age: 3 }] },
      ["data[].age: is new"],
    ],
    [
      "another kind of value",
      "GET /models/a/voices",
      { data: [{ id: "v" }] },
      { data: [{ id: 7 }] },
      ["data[].id: was string, is number"],
    ],
    ["another voice is none", "GET /models/a/voices", { data: [{ id: "v" }] }, { data: [{ id: "w" }] }, []],
    ["an empty list says nothing of its items", "GET /models/a/voices", { data: [{ id: "v" }] }, { data: [] }, []],
    [
      "where to read on is none",
      "GET /models/a/voices",
      { data: [], next_cursor: "x" },
      { data: [], next_cursor: null },
      [],
    ],
    [
      "a schema, as a catalog",
      "GET /models/image-1",
      model({ maxLength: 9 }),
      model({ maxLength: 8 }),
      ["image-1.prompt: maxLength was 9, is 8"],
    ],
    ["a model that is gone", "GET /models", { data: [model({})] }, { data: [] }, ["image-1: is no longer listed"]],
    ["a model that is new", "GET /models", { data: [] }, { data: [model({})] }, ["image-1: is new"]],
    [
      "not so after a list that was read in part",
      "GET /models",
      { data: [], next_cursor: "x" },
      { data: [model({})] },
      [],
    ],
    ["a price", "POST /models/image-1/estimate", { cost: "0.04" }, { cost: "0.05" }, ['cost: was "0.04", is "0.05"']],
    [
      "a price that there is no more",
      "POST /models/image-1/estimate",
      { cost: "0.04" },
      { cost: null },
      ["cost: was string, is null"],
    ],
    [
      "an operation",
      "GET /openapi.json",
      { paths: { "/jobs": { get: {}, post: {} } } },
      { paths: { "/jobs": { get: {} } } },
      ["paths./jobs.post: is missing"],
    ],
  ])("%s", (_what, request, was, is, said) => {
    expect(found(request, was, is)).toEqual(said);
  });

  test("a status is said alone", () => {
    const was = ok("GET /models/a", { id: "a" });
    expect(driftOf(was, { request: was.request, status: 410 })).toEqual([
      { request: was.request, field: null, message: "its status was 200, is 410" },
    ]);
  });

  test("nothing, of any answer to itself", () => {
    const requests = fc.constantFrom("GET /models", "GET /models/a", "GET /openapi.json", "POST /models/a/estimate");
    const answers = fc.oneof(
      fc.jsonValue(),
      fc.record({ cost: fc.jsonValue(), data: fc.jsonValue(), id: fc.string() }),
    );
    fc.assert(
      fc.property(requests, answers, (request, answer) => {
        expect(found(request, answer, structuredClone(answer))).toEqual([]);
      }),
    );
  });
});

describe("what is asked again", () => {
  const requests = (...names: string[]) =>
    askableOf(names.map((name) => ok(name, {}))).answers.map(({ request }) => request);

  test("catalog, schemas and estimates; never a job, an upload, an account or another path", () => {
    const free = [
      "GET /models",
      "GET /models/a",
      "GET /models/a/openapi.json",
      "GET /models/a/voices",
      "GET /openapi.json",
    ];
    const all = [...free, "POST /models/a/estimate"];
    const others = ["POST /models/a", "POST /models/estimate", "POST /files", "GET /balance", "GET /models/a/jobs"];
    expect(requests(...all, ...others, "DELETE /models/a", "POST /models/%2e%2e/estimate", "GET /models/..")).toEqual(
      all,
    );
  });

  test("the last answer to each, pages of models as one, and nothing that passes", () => {
    const first = ok("GET /models", { data: [1], next_cursor: "x" });
    const second = ok("GET /models?cursor=x", { data: [2], next_cursor: null });
    const refused = { request: "GET /models/a", status: 429, answer: {} };
    expect(askableOf([ok("GET /models", {}), first, second, refused]).answers).toEqual([
      { ...first, answer: { data: [1, 2], next_cursor: null } },
    ]);
  });

  test("no estimate whose media or secrets were not recorded", () => {
    const estimate = (value: string) => ok("POST /models/a/estimate", {}, { input: { value } });
    const kept = estimate("a kettle");
    const lost = ["recorded:upload:00", "https://host.example/a.png", "[redacted]"].map(estimate);
    expect(askableOf([kept, ...lost])).toEqual({ answers: [kept], notAsked: 3 });
  });
});
