import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BUILT_IN_MODELS } from "../../src/local-service/catalog/builtin/index.ts";
import { LocalServiceError, startLocalService } from "../../src/local-service/index.ts";
import { PICTURE, SOUND } from "../../src/local-service/start.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { type Body, estimate, get, made, post, refusal, start, uploaded } from "./support/service.ts";

const reference = (media_type: string, role: string) => ({
  media_type,
  role,
  oneOf: (["url", "asset"] as const).map((source) => {
    const name = source === "url" ? "url" : "asset_id";
    const properties = { source: { const: source }, [name]: { type: "string" } };
    return { type: "object", additionalProperties: false, required: ["source", name], properties };
  }),
  discriminator: { propertyName: "source", mapping: { url: "#/x", asset: "#/y" } },
  x_unknown: { survives: true },
});

const model = (id: string, modality: string, properties: object, required: string[] = []) => ({
  ...{ id, modality, name: id, description: null, logo_url: null, price_description: "some" },
  input_schema: { type: "object", additionalProperties: false, required, properties },
});

const prompt = { type: "string", minLength: 1 };

test("any catalog is served, with renderers chosen by modality and fields [S1 S2]", async () => {
  const [first, heard] = [reference("image", "start_frame"), reference("audio", "audio_input")];
  const voice_id = { type: "string", enum: ["anna", "otto"] };
  const service = await start({
    catalog: [
      model("draw", "image", { prompt, refs: { type: "array", items: reference("image", "reference") } }, ["prompt"]),
      model("film", "video", { prompt, first }, ["prompt"]),
      model("talk", "video", { prompt, face: first, sound: heard }),
      model("say", "audio", { text: prompt, voice_id }, ["text", "voice_id"]),
      model("clone", "audio", { audio: heard }, ["audio"]),
    ],
  });
  const picture = await uploaded(service, PICTURE.bytes);
  const sound = await uploaded(service, SOUND.bytes);
  const kind = async (id: string, input: object) => (await made(service, id, input)).outputs[0].content_type;
  expect(await kind("draw", { prompt: "x", refs: [picture] })).toBe("image/png");
  expect(await kind("film", { prompt: "x", first: picture })).toBe("video/mp4");
  expect(await kind("talk", { prompt: "x", face: picture, sound })).toBe("video/mp4");
  expect(await kind("say", { text: "x", voice_id: "otto" })).toBe("audio/wav");
  expect((await made(service, "clone", { audio: sound })).outputs[0].voice_id).toMatch(/^voice_/);
  const entry = (await get(service, "/models/film")).body;
  expect(entry.input_schema.properties.first.x_unknown).toEqual({ survives: true });
  const wrong = { input: { prompt: "x", first: sound } };
  const refused = await post(service, "/models/film", wrong);
  expect(refused.body.error.details[0]).toMatchObject({ field: "input.first", reason: "media_type" });
});

test("a schema that does not compile disables that model with a message, not the service", async () => {
  const bad = { ...model("bad", "image", {}), input_schema: { type: "nonsense" } };
  const none = { ...model("none", "image", {}), input_schema: null };
  const service = await start({ catalog: [bad, none, model("good", "image", { prompt })] });
  expect((await get(service, "/models")).body.data.map((item: Body) => item.id)).toEqual(["good"]);
  const message = expect.stringContaining("does not compile");
  expect(await get(service, "/models/bad")).toMatchObject(refusal(400, { code: "FAILED_PRECONDITION", message }));
  expect(service.stats().disabled_models).toHaveLength(2);
  expect((await made(service, "good", { prompt: "x" })).status).toBe("COMPLETED");
});

test("the built-in models, which are compiled when they are first used, have no fault", async () => {
  const catalog = BUILT_IN_MODELS.map(({ entry }) => entry);
  const service = await start({ catalog });
  expect(service.stats()).toMatchObject({ disabled_models: [], unread_tables: [] });
});

test("a file of a hundred models is served, each with its own schema [M1 S14]", async () => {
  const folder = newFolder();
  const file = join(folder, "catalog.json");
  const modalities = ["image", "video", "audio"];
  const many = Array.from({ length: 100 }, (_, index) => {
    const properties = { prompt, [`own_${index}`]: { type: "integer", minimum: index } };
    return model(`model-${index}`, modalities[index % 3]!, properties, ["prompt"]);
  });
  await writeFile(file, JSON.stringify(many));
  const service = await start({ catalog: file });
  expect((await get(service, "/models")).body.data).toHaveLength(100);
  expect((await get(service, "/models?modality=video")).body.data).toHaveLength(33);
  const low = await estimate(service, "model-40", { prompt: "x", own_40: 39 });
  expect(low.body.error.details).toMatchObject([{ field: "input.own_40", reason: "minimum" }]);
  const fine = await estimate(service, "model-40", { prompt: "x", own_40: 40 });
  expect(fine.body).toMatchObject({ model: "model-40", cost: expect.any(Number) });
});

test("an id with a slash is found as it is and escaped, of models that draw and of those that write", async () => {
  const catalog = [model("zai-org/draw", "image", { prompt }), { id: "zai-org/glm-5.3", modality: "text" }];
  const service = await start({ catalog });
  // No document describes the slash as it is.
  const read = async (path: string, init?: RequestInit) => {
    const headers = { Authorization: `Bearer ${service.apiKey}`, "Content-Type": "application/json" };
    const response = await fetch(`${service.baseUrl}/models/${path}`, { headers, ...init });
    const body = (await response.json()) as { id?: string; paths?: object };
    return [response.status, body.id ?? Object.keys(body.paths ?? {})[0] ?? null];
  };
  for (const slash of ["/", "%2F"]) {
    expect(await read(`zai-org${slash}draw`)).toEqual([200, "zai-org/draw"]);
    expect(await read(`zai-org${slash}draw/openapi.json`)).toEqual([200, "/models/zai-org%2Fdraw"]);
    expect(await read(`zai-org${slash}glm-5.3`)).toEqual([200, "zai-org/glm-5.3"]);
    expect(await read(`zai-org${slash}glm-5.3/openapi.json`)).toEqual([200, "/chat/completions"]);
    expect(await read(`zai-org${slash}draw/nothing`)).toEqual([404, null]);
    const submit = { method: "POST", body: '{"input": {"prompt": "a red kite"}}' };
    expect((await read(`zai-org${slash}draw`, submit))[0]).toBe(202);
  }
  expect(await read("draw/nothing")).toEqual([404, null]);
});

test("what a catalog says to the local service alone is obeyed and not shown", async () => {
  const own = (id: string, x_local: object) => ({ ...model(id, "image", { prompt }), x_local });
  const [old, soon] = [own("old", { replaced_by: "dear" }), own("soon", { unsupported: "soon" })];
  const service = await start({ catalog: [own("dear", { price_usd: 1.5 }), old, soon] });
  expect((await made(service, "dear", { prompt: "x" })).cost).toBe(1.5);
  expect((await get(service, "/models/dear")).body).not.toHaveProperty("x_local");
  expect((await get(service, "/models/old")).body.error).toMatchObject({ code: "GONE", replaced_by: "dear" });
  const error = { code: "FAILED_PRECONDITION", message: "soon" };
  expect((await get(service, "/models/soon")).body.error).toMatchObject(error);
});

test.each([
  ["no file", "/nowhere/catalog.json", "cannot be read"],
  ["no array", { models: 1 } as never, "must be an array of models"],
  ["a model without an id", [{ modality: "image" }], "model 0, id"],
  ["an unknown modality", [model("a", "smell", {})], "model 0, modality"],
  ["the same id twice", [model("a", "image", {}), model("a", "image", {})], "a twice"],
])("a catalog with %s is refused at the start [M2]", async (_name, catalog, text) => {
  const error = await startLocalService({ catalog, renderer: "stub" }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(LocalServiceError);
  expect(error).toMatchObject({ code: "CATALOG_INVALID", message: expect.stringContaining(text) });
});
