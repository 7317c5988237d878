import { expect, test } from "vitest";
import { estimate, post, start } from "./support/service.ts";

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
      const { status, body } = await post(service, `/models/${id}/estimate`, { input: { prompt } });
      return [status, body.error?.details.map((item: { readonly reason: string }) => item.reason)];
    }),
  );
  expect(reasons).toEqual(["pattern", "deadline", "deadline"].map((reason) => [400, [reason]]));
  const fitting = await post(service, "/models/looking/estimate", { input: { prompt: "aaa" } });
  expect(fitting.status).toBe(200);
});

test("a schema that refers to itself in two ways is given up on a deep input instead of holding up the service", async () => {
  const next = { anyOf: [{ $ref: "#" }, { $ref: "#", required: ["never"] }] };
  const input_schema = { type: "object", properties: { next } };
  const service = await start({ catalog: [{ id: "twofold", modality: "image", input_schema }] });
  let input: object = { next: 1 };
  for (let depth = 0; depth < 50; depth++) input = { next: input };
  const { status, body } = await post(service, "/models/twofold/estimate", { input });
  expect([status, body.error.details[0].reason]).toEqual([400, "deadline"]);
});

test("unique items are told apart in time that grows with the list, and a web address that quickly too", async () => {
  const properties = { list: { type: "array", uniqueItems: true }, home: { type: "string", format: "url" } };
  const service = await start({
    catalog: [{ id: "lists", modality: "image", input_schema: { type: "object", properties } }],
  });
  const many = Array.from({ length: 5000 }, (_, index) => ({ at: index }));
  const fine = await estimate(service, "lists", { list: many, home: "https://example.com/a?b" });
  expect(fine.status).toBe(200);
  const list = [...many, { b: 1, a: [1] }, { a: [1], b: 1 }];
  const twice = await estimate(service, "lists", { list, home: `http://${"::".repeat(200_000)}` });
  expect(twice.body.error.details).toMatchObject([{ field: "input.list" }, { field: "input.home" }]);
});
