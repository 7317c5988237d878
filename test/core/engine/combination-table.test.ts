import { expect, test } from "vitest";
import { z } from "zod";
import { catalogOf, type JsonSchema } from "../../../src/core/catalog/index.ts";
import { createMemoryJournal, openShowrunner } from "../../../src/index.ts";
import { start } from "../../local-service/support/service.ts";
import { apiError, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { catalogWith, entryOf } from "../families/support.ts";

/** Which level is meant without one is published nowhere: `standard` by default, or none. */
const schema: JsonSchema = {
  type: "object",
  additionalProperties: false,
  description: `A film.

Accepted field combinations (one per input mode):
(1) requires: prompt; accepts quality: pro; resolution: 4K
(2) requires: prompt; accepts quality: standard; resolution: 720p`,
  required: ["prompt"],
  properties: {
    prompt: { type: "string" },
    quality: { type: "string", enum: ["standard", "pro"], default: "standard" },
    resolution: { type: "string", enum: ["720p", "4K"] },
  },
};
const entry = entryOf("reel-1", schema);

const film = (input: object, model = "reel-1") =>
  pipelineOf("film", ({ job }) => ({ film: job("film", model, input as never) }));
const unclear = { prompt: "a boat", resolution: "4K" };

const world = (priceMicros: () => number | null) => openFakeShow({ catalog: catalogWith([entry]), priceMicros });
const refuse = () => {
  throw apiError(400, "INVALID_ARGUMENT");
};

test.each([
  ["quotes", () => 50_000],
  ["takes without a price", () => null],
])("an input that breaks a table by a default is no problem where the service %s it", async (_, priceMicros) => {
  const { show } = await world(priceMicros);
  const message = expect.stringContaining('not "standard", its default');
  expect(await show.quote(film(unclear), {}, { maxUnquoted: "1" })).toMatchObject({
    ...{ ok: true, problems: [], warnings: [{ code: "accepted-anyway", step: "film", message }] },
  });
  expect((await show.plan(film(unclear), {})).ok).toBe(true);
});

test("it is a problem where the service refuses it too, told once", async () => {
  const { show } = await world(refuse);
  const problems = [{ code: "combination-by-default", step: "film", field: "input.quality" }];
  expect(await show.quote(film(unclear), {})).toMatchObject({ ok: false, problems });
});

test("an input that is in no row however defaults count is refused, whatever the service says", async () => {
  const { show } = await world(() => 50_000);
  const quote = await show.quote(film({ ...unclear, quality: "standard" }), {});
  expect(quote).toMatchObject({ ok: false, problems: [{ code: "combination-table", step: "film" }] });
});

test("takes are told once", async () => {
  const three = pipelineOf("film", ({ takes }) => ({
    film: takes("film", "reel-1", unclear as never, { count: 3, choose: "first" }),
  }));
  expect((await (await world(refuse)).show.quote(three, {})).problems).toHaveLength(1);
  expect((await (await world(() => 50_000)).show.quote(three, {})).warnings).toHaveLength(1);
});

test.each([
  ["grows where the service takes it", () => 50_000, "succeeded"],
  ["does not grow where it refuses it", refuse, "failed"],
])("what a value leads to %s", async (_, priceMicros, status) => {
  const said = JSON.stringify({ scenes: ["a boat"] });
  const { run } = await openFakeShow({ catalog: catalogWith([entry]), priceMicros, says: () => said });
  const grown = pipelineOf("grown", ({ chat, expand }) => {
    const schema = z.object({ scenes: z.array(z.string()) });
    const plot = chat("plot", "chat-1", { prompt: "x" }, { schema, maxCost: "1" });
    const films = expand(
      "films",
      plot.at("scenes"),
      (scenes, { job }) => scenes.map((prompt, n) => job(`film-${n}`, "reel-1", { ...unclear, prompt } as never)),
      { maxSteps: 2, maxCost: "1", yields: "video" },
    );
    return { films };
  });
  const { report } = await run(grown);
  expect(report.steps.find(({ path }) => path === "films")?.status).toBe(status);
});

test("a row that cannot be read is a warning, once for its model", async () => {
  const broken = entryOf("reel-1", { ...schema, description: `${schema.description}\n(3) needs a miracle` });
  const { show } = await openFakeShow({ catalog: catalogWith([broken]) });
  const two = pipelineOf("films", ({ job }) => ({
    a: job("a", "reel-1", { prompt: "a", quality: "standard", resolution: "4K" } as never),
    b: job("b", "reel-1", { prompt: "b" } as never),
  }));
  const message = expect.stringContaining("(3) needs a miracle");
  const warnings = [{ code: "unread-table", step: "reel-1", message }];
  expect(await show.quote(two, {})).toMatchObject({ ok: true, warnings });
});

test("a retired model is refused with its successor, and an old id with what the service says of it", async () => {
  const { baseUrl, apiKey } = await start({
    catalog: [entry, { ...entry, id: "reel-0", x_local: { replaced_by: "reel-1" } }],
  });
  const show = await openShowrunner({ baseUrl, apiKey, journal: createMemoryJournal() });
  const said = expect.stringContaining("the service says: Use reel-1 with quality pro.");
  const told = [
    ["reel-0", { code: "retired-model", message: "reel-0 is retired; use reel-1 instead", replacedBy: "reel-1" }],
    ["reel-1-pro", { code: "unknown-model", message: said }],
    ["rel-1", { message: "the service has no model rel-1; did you mean reel-1?" }],
  ] as const;
  for (const [id, problem] of told) expect((await show.quote(film(unclear, id), {})).problems).toMatchObject([problem]);
  await show.close();
});

test("a model that is retired between the catalog and its estimate is refused with its successor", async () => {
  const { show } = await world(() => {
    throw apiError(410, "GONE", { replacedBy: "reel-2" });
  });
  const problem = { code: "retired-model", step: "film", field: "model", replacedBy: "reel-2" };
  expect((await show.quote(film({ prompt: "x" }), {})).problems).toMatchObject([problem]);
});

test("a pointer counts under any status", async () => {
  const model = () => {
    throw apiError(404, "NOT_FOUND", { replacedBy: "reel-2" });
  };
  const { show } = await openFakeShow({ catalog: { ...catalogOf([]), model } });
  const { problems } = await show.quote(film(unclear), {});
  expect(problems).toMatchObject([{ code: "retired-model", replacedBy: "reel-2" }]);
});
