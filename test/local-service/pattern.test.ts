import { expect, test } from "vitest";
import { ask, start } from "./support/service.ts";

const model = (id: string, pattern: string) => ({
  id,
  modality: "image",
  input_schema: { type: "object", additionalProperties: false, properties: { prompt: { type: "string", pattern } } },
});

test("a model whose schema explodes answers an estimate at once, with the text refused or the check given up", async () => {
  const catalog = [model("nested", "^(a+)+$"), model("looking", "^(?=(a+)+$)a*$"), model("twins", "^(a+)+\\1$")];
  const service = await start({ catalog });
  const prompt = `${"a".repeat(5000)}!`;
  const reasons = await Promise.all(
    catalog.map(async ({ id }) => {
      const { status, body } = await ask(service, "POST", `/models/${id}/estimate`, { body: { input: { prompt } } });
      return [status, body.error?.details.map((item: { readonly reason: string }) => item.reason)];
    }),
  );
  expect(reasons).toEqual([
    [400, ["pattern"]],
    [400, ["deadline"]],
    [400, ["deadline"]],
  ]);
  const fitting = await ask(service, "POST", "/models/looking/estimate", { body: { input: { prompt: "aaa" } } });
  expect(fitting.status).toBe(200);
});

test("a schema that refers to itself in two ways is given up on a deep input instead of holding up the service", async () => {
  const input_schema = {
    type: "object",
    properties: { next: { anyOf: [{ $ref: "#" }, { $ref: "#", required: ["never"] }] } },
  };
  const service = await start({ catalog: [{ id: "twofold", modality: "image", input_schema }] });
  let input: object = { next: 1 };
  for (let depth = 0; depth < 50; depth++) input = { next: input };
  const { status, body } = await ask(service, "POST", "/models/twofold/estimate", { body: { input } });
  expect([status, body.error.details[0].reason]).toEqual([400, "deadline"]);
});

test("unique items are told apart in time that grows with the list, and a web address that quickly too", async () => {
  const properties = {
    list: { type: "array", uniqueItems: true },
    home: { type: "string", format: "url" },
  };
  const service = await start({
    catalog: [{ id: "lists", modality: "image", input_schema: { type: "object", properties } }],
  });
  const estimate = (input: object) => ask(service, "POST", "/models/lists/estimate", { body: { input } });
  const many = Array.from({ length: 5000 }, (_, index) => ({ at: index }));
  expect((await estimate({ list: many, home: "https://example.com/a?b" })).status).toBe(200);
  const twice = await estimate({
    list: [...many, { b: 1, a: [1] }, { a: [1], b: 1 }],
    home: `http://${"::".repeat(200_000)}`,
  });
  expect(twice.body.error.details.map((item: { readonly field: string }) => item.field)).toEqual([
    "input.list",
    "input.home",
  ]);
});
