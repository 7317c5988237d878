import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { PUBLISHED_MODELS } from "../../../src/local-service/catalog/builtin/published.ts";
import { COMPONENTS } from "../../../src/local-service/openapi/components.ts";
import { modelNames } from "../../../src/local-service/openapi/document.ts";
import { words } from "../../support/word-list.ts";
import { type Body, get, post, read, start, submit } from "../support/service.ts";

/** Every endpoint of the API, written down apart from the code. */
const ENDPOINTS = `
GET /models                                   GET /models/{model}                  GET /models/{model}/openapi.json
POST /models/{model}/estimate                 GET /models/{model}/jobs             GET /models/{model}/voices
GET /models/{model}/voices/search            GET /transactions
GET /usage/llm
POST /models/{model}                          GET /jobs                            GET /jobs/{job_id}
DELETE /jobs/{job_id}                         GET /jobs/{job_id}/status            GET /jobs/{job_id}/logs
GET /jobs/{job_id}/stream                     POST /files                          GET /balance
GET /usage                                    POST /keys                           GET /keys
POST /keys/{key_id}/rotate                    DELETE /keys/{key_id}                POST /tokens
GET /webhooks/public-key                      GET /webhooks/default                PUT /webhooks/default
DELETE /webhooks/default                      POST /webhooks/default/test          GET /webhooks/deliveries
POST /webhooks/deliveries/{job_id}/redeliver  GET /log-drains                      POST /log-drains
GET /log-drains/{drain_id}                    PATCH /log-drains/{drain_id}         DELETE /log-drains/{drain_id}
POST /log-drains/{drain_id}/test              POST /chat/completions               GET /openapi.json
POST /responses`;

const routesOf = (document: Body): string[] =>
  Object.entries<object>(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );

const operationsOf = (document: Body): Body[] =>
  Object.values<object>(document.paths).flatMap((item) => Object.values(item));

async function problemsOf(document: Body): Promise<unknown> {
  const validator = new Validator();
  const result = await validator.validate(structuredClone(document));
  if (result.valid) validator.resolveRefs();
  return { version: validator.version, errors: result.errors ?? [] };
}

test("the document has every endpoint of the API and one submit operation a model, and nothing else [S13 S22 X2 X3]", async () => {
  const service = await start();
  const { status, body } = await get(service, "/openapi.json", { credential: null });
  expect(status).toBe(200);
  expect(body.info.version).toBe("3.21.14");
  const listed: Body[] = (await read(service, "/models")).data;
  const models = listed.flatMap(({ id, modality }) => (modality === "text" ? [] : `POST /models/${id}`));
  const written = ENDPOINTS.trim().split(/\s{2,}|\n/);
  expect(routesOf(body).sort()).toEqual([...written, ...models].sort());
});

test("nothing served goes undescribed, and no operation has another one's id", async () => {
  const service = await start();
  for (const path of ["/openapi.json", "/_local/openapi.json"]) {
    const operations = operationsOf(await read(service, path));
    expect(operations.filter(({ tags }) => tags.includes("Undescribed")).map(({ summary }) => summary)).toEqual([]);
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
  }
});

/** Ids of operations, written down apart from the code: generated clients are called by them. */
const OPERATIONS = `
list_models get_model get_model_openapi estimate_job list_model_jobs list_transactions list_llm_requests list_model_voices search_model_voices submit_job
list_jobs get_job delete_job get_job_status list_job_logs stream_job upload_file get_balance get_usage
create_key list_keys rotate_key revoke_key create_token create_chat_completion create_response
get_webhook_public_key get_webhook_default set_webhook_default delete_webhook_default test_webhook_default
list_webhook_deliveries redeliver_webhook
list_log_drains create_log_drain get_log_drain update_log_drain delete_log_drain test_log_drain get_openapi
submit_image_1 submit_video_1 submit_avatar_1 submit_speech_1 submit_voice_clone_1 submit_upscale_1`;

test("operations are named verb and noun, shapes as nouns, and every tag is introduced", async () => {
  const service = await start();
  const { body } = await get(service, "/openapi.json");
  const operations = operationsOf(body);
  const published = PUBLISHED_MODELS.map(({ entry }) => `submit_${entry.id.replace(/[^a-z0-9]/g, "_")}`);
  const ids = operations.map(({ operationId }) => operationId);
  expect(published.filter((one) => !ids.includes(one))).toEqual([]);
  expect(ids.filter((one) => !published.includes(one)).sort()).toEqual(OPERATIONS.trim().split(/\s+/).sort());
  const shapes = Object.keys(body.components.schemas);
  expect(shapes.filter((name) => !/^([A-Z][a-z0-9]*(_\d)?)+$/.test(name) || name.endsWith("s"))).toEqual(["JobStatus"]);
  const tags = new Set(operations.flatMap((operation) => operation.tags));
  expect(body.tags.map(({ name }: Body) => name).sort()).toEqual([...tags].sort());
});

test("names of a model's submit follow from its id alone, unless two ids would share one", () => {
  const names = modelNames(["veo-3.1", "veo-3-1", "Veo-31", "clip-2", "job", "模型"]);
  expect(modelNames(["clip-2"]).get("clip-2")).toEqual(names.get("clip-2"));
  expect(names.get("clip-2")).toEqual({ operationId: "submit_clip_2", input: "Clip2Input" });
  expect(modelNames(["veo-3.1"]).get("veo-3.1")).toEqual({ operationId: "submit_veo_3_1", input: "Veo3_1Input" });
  expect(names.get("job")?.operationId).toMatch(/^submit_job_[0-9a-f]{6}$/);
  const spelt = [...names.values()].flatMap(({ operationId, input }) => [operationId, input]);
  expect(new Set(spelt.map((name) => name.replaceAll("_", "").toLowerCase())).size).toBe(2 * names.size);
});

test("event streams are described by the data of a frame and by the whole frame, deliveries with their headers", async () => {
  const service = await start({ brand: "Acme" });
  const { body } = await get(service, "/openapi.json");
  const { content } = body.paths["/jobs/{job_id}/stream"].get.responses["200"];
  expect(content["text/event-stream"].schema.$ref).toBe("#/components/schemas/JobStreamData");
  const data = body.components.schemas.JobStreamData.oneOf.map(({ $ref }: Body) => $ref.split("/").at(-1));
  expect(data).toEqual(["JobStatus", "LogEvent", "JobStreamEnd"]);
  const frame = body.components.schemas[content["text/event-stream"]["x-itemSchema"].$ref.split("/").at(-1)];
  expect(frame.discriminator.propertyName).toBe("event");
  expect(Object.keys(body.webhooks)).toEqual(
    words("job.completed job.failed billing.top_off_failed webhook.test log_drain.batch"),
  );
  const headers = body.webhooks["job.completed"].post.parameters.map(({ name }: Body) => name);
  expect(headers).toEqual(
    ["Id", "Timestamp", "Event", "Redelivery", "Attempt", "Signature"].map((name) => `X-Acme-Webhook-${name}`),
  );
  expect(Object.keys(body.components.schemas.LogDrainLine.properties)).toContain("acme_log_id");
});

test("an independent validator finds the documents valid as OpenAPI 3.1, with every reference leading somewhere [P8 S22 WM2]", async () => {
  const service = await start();
  const models = (await read(service, "/models")).data.map((model: Body) => `/models/${model.id}/openapi.json`);
  for (const path of ["/openapi.json", "/_local/openapi.json", ...models]) {
    expect(await problemsOf(await read(service, path)), path).toEqual({ version: "3.1", errors: [] });
  }
  const { body } = await get(service, "/openapi.json");
  expect(await problemsOf({ ...body, info: {} })).not.toMatchObject({ errors: [] });
});

test("a typed input has no keyword that OpenAPI does not know, and no default that makes its field required", async () => {
  const discriminator = { mapping: { a: "#/$defs/a" } };
  const items = { media_type: "image", "x-own": 1, enum: [{ role: 1 }], discriminator };
  const properties = { media_type: { type: "string", default: "a" }, items: { type: "array", items } };
  const schema = { type: "object", properties, $defs: { a: { max_duration_ms: 5, default: { default: 1 } } } };
  const service = await start({ catalog: [{ id: "odd-1", modality: "image", name: "Odd", input_schema: schema }] });
  const { body } = await get(service, "/openapi.json");
  const mapping = { a: "#/components/schemas/Odd1Input/$defs/a" };
  const typed = { "x-media_type": "image", "x-own": 1, enum: [{ role: 1 }], discriminator: { mapping } };
  expect(body.components.schemas.Odd1Input).toEqual({
    type: "object",
    properties: { media_type: { type: "string", "x-default": "a" }, items: { type: "array", items: typed } },
    $defs: { a: { "x-max_duration_ms": 5, "x-default": { default: 1 } } },
  });
  const own = await read(service, "/models/odd-1/openapi.json");
  const { input } = own.paths["/models/odd-1"].post.requestBody.content["application/json"].schema.properties;
  expect(input.properties.media_type).toEqual({ type: "string", default: "a" });
  expect((await read(service, "/models/odd-1")).input_schema).toEqual(schema);
});

test("a document has the shapes that it uses, and no other", async () => {
  const service = await start();
  const { body } = await get(service, "/models/image-1/openapi.json");
  expect(Object.keys(body.components.schemas)).toEqual(
    words("JobAcknowledgement ErrorDetail ErrorBilling ErrorObject ErrorResponse"),
  );
  expect(Object.keys((await read(service, "/openapi.json")).components.schemas)).toEqual(
    expect.arrayContaining(Object.keys(COMPONENTS)),
  );
});

test("a typed submit operation takes the model's own schema, references and all, which may lead to itself", async () => {
  const properties = { prompt: { $ref: "#/$defs/said" }, parts: { type: "array", items: { $ref: "#" } } };
  const $defs = { said: { type: "string", minLength: 1 } };
  const tree = { type: "object", required: ["prompt"], additionalProperties: false, properties, $defs };
  const model = { id: "tree-1", modality: "image", name: "Tree", input_schema: tree };
  const service = await start({ catalog: [model] });
  const { body } = await get(service, "/openapi.json");
  const { schema } = body.paths["/models/tree-1"].post.requestBody.content["application/json"];
  expect(schema.properties.input).toEqual({ $ref: "#/components/schemas/Tree1Input" });
  const input = body.components.schemas.Tree1Input;
  expect(input.properties.prompt.$ref).toBe("#/components/schemas/Tree1Input/$defs/said");
  expect(input.properties.parts.items.$ref).toBe("#/components/schemas/Tree1Input");
  expect(await problemsOf(body)).toEqual({ version: "3.1", errors: [] });
  const own = await read(service, "/models/tree-1/openapi.json");
  const inline = own.paths["/models/tree-1"].post.requestBody.content["application/json"].schema.properties.input;
  expect(inline.properties.parts.items.$ref).toBe(
    "#/paths/~1models~1tree-1/post/requestBody/content/application~1json/schema/properties/input",
  );
  expect(await problemsOf(own)).toEqual({ version: "3.1", errors: [] });
  await submit(service, "tree-1", { prompt: "a", parts: [{ prompt: "b", parts: [] }] });
  const refused = await post(service, "/models/tree-1", { input: { prompt: "a", parts: [{ prompt: 1 }] } });
  expect(refused.body.error.param).toBe("input.parts[0].prompt");
});

test("each operation says which scope it needs [WC9]", async () => {
  const service = await start();
  const { body } = await get(service, "/openapi.json");
  expect(body.paths["/jobs"].get.security).toEqual([{ bearer: ["jobs:read"] }, { key: ["jobs:read"] }]);
  expect(body.paths["/webhooks/public-key"].get.security).toEqual([]);
  const scopes = operationsOf(body).flatMap(({ security }) => security.flatMap(Object.values).flat());
  expect(new Set(scopes).size).toBe(9);
});
