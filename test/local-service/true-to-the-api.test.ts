/** Where answers once differed from what typed clients of the API expect. */
import { expect, test } from "vitest";
import { createClient } from "../../src/core/api/index.ts";
import { drainNow, drainUntil, lines, drain as makeDrain, SECRET } from "./support/drains.ts";
import { receiver } from "./support/receiver.ts";
import { ask, frames, get, made, start } from "./support/service.ts";

test("a rotation answers with all that a strict client reads of a key, and the new secret is not lost [P35 WA8]", async () => {
  const service = await start();
  const made = await ask(service, "POST", "/keys", { body: { name: "robot", scopes: ["jobs:read"] } });
  const rotated = await ask(service, "POST", `/keys/${made.body.key_id}/rotate`, { body: {} });
  expect(rotated.body).toEqual({
    key_id: made.body.key_id,
    credential: expect.stringMatching(/:/),
    kind: "personal",
    name: "robot",
    scopes: ["jobs:read"],
    workspace_id: made.body.workspace_id,
    expires_at: null,
    previous_secret_expires_at: expect.any(String),
  });
});

test.each([
  [{}, null],
  [{ scopes: null }, "all"],
  [{ scopes: [] }, []],
  [{ scopes: ["jobs:read"] }, ["jobs:read"]],
])("our client reads scopes of %j as %j: what is not said is not full access", async (said, scopes) => {
  const { createdKey } = await import("../../src/core/api/endpoints/account.ts");
  expect(createdKey.parse({ key_id: "k", credential: "k:s", ...said }).scopes).toEqual(scopes);
});

test.each([
  ["null", { cost: null }],
  ["zero", { cost: 0 }],
  ["omit", {}],
] as const)(
  "an estimate that is impossible states its cost as %s on demand, and our client reads none",
  async (unquotableCost, said) => {
    const service = await start({ unquotableCost });
    const [picture] = (await made(service, "image-1", { prompt: "one" })).outputs;
    const input = { image: { source: "asset", asset_id: picture.asset_id } };
    const { body } = await ask(service, "POST", "/models/upscale-1/estimate", { body: { input } });
    expect(body).toEqual({ model: "upscale-1", currency: "USD", quotable: false, reason: expect.any(String), ...said });
    const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
    expect(await client.estimate({ model: "upscale-1", input })).toMatchObject({ costMicros: null, quotable: false });
    await client.close();
  },
);

test("customized shots are charged and take as long as they last together, whatever duration_ms says [V21]", async () => {
  const service = await start();
  const multi_prompt = [
    { prompt: "a", duration_ms: 1000 },
    { prompt: "b", duration_ms: 3000 },
  ];
  const film = { aspect_ratio: "16:9", duration_ms: 10_000, multi_prompt, generate_audio: false };
  const cost = async (shot_type: string) =>
    (await ask(service, "POST", "/models/video-1/estimate", { body: { input: { ...film, shot_type } } })).body.cost;
  expect([await cost("customize"), await cost("intelligent")]).toEqual([0.2, 0.5]);
});

test("every drained line has an id of its own, also over jobs, so that readers may drop what comes twice [WD4]", async () => {
  const service = await start();
  const sink = await receiver();
  const drain = await makeDrain(service, { url: sink.url });
  await made(service, "image-1", { prompt: "one" });
  await made(service, "image-1", { prompt: "two" });
  await drainUntil(service, drain.id, () => sink.received.flatMap(lines).length >= 14);
  const ids = sink.received.flatMap(lines).map(({ studio_log_id }) => studio_log_id);
  expect(ids.every((id) => typeof id === "string" && /^log_\d+$/.test(id))).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
});

test("without a default webhook, reading it says that there is none [WH9]", async () => {
  const service = await start();
  const none = { url: null, enabled: false, updated_at: null, updated_by_key_id: null };
  expect(await get(service, "/webhooks/default")).toMatchObject({ status: 200, body: none });
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
  expect(await client.webhooks.default.get()).toMatchObject({ url: null, enabled: false });
  await client.close();
});

test("a test of a webhook or drain that fails says why in words [WD11 WH10 WK4]", async () => {
  const service = await start();
  const sink = await receiver(() => 500);
  await ask(service, "PUT", "/webhooks/default", { body: { url: sink.url } });
  const drain = await ask(service, "POST", "/log-drains", { body: { name: "d", url: sink.url, secret: SECRET } });
  for (const path of ["/webhooks/default/test", `/log-drains/${drain.body.id}/test`]) {
    const { body } = await ask(service, "POST", path);
    expect(body).toEqual({
      ok: false,
      response_status: 500,
      error: expect.stringMatching(/^UNAVAILABLE: The destination/),
    });
  }
});

test("the stream of a finished job opens with the status as GET /status gives it [WS4]", async () => {
  const service = await start();
  const job = await made(service, "image-1", { prompt: "x" });
  const status = await get(service, `/jobs/${job.job_id}/status`);
  const all = await frames(service, job.job_id);
  expect(JSON.parse(all[0]?.data ?? "{}")).toEqual(status.body);
  expect(status.body).toMatchObject({ status: "COMPLETED", progress: 1, estimated_completion_at: null });
  const again = await frames(service, job.job_id, { "Last-Event-ID": all[0]?.id ?? "" });
  expect(again.filter(({ event }) => event === "log").length).toBe(7);
});

test("a required choice that is missing lists what it may be [E15 E16]", async () => {
  const service = await start();
  const { body } = await ask(service, "POST", "/models/video-1", { body: { input: { prompt: "x" } } });
  const ratio = body.error.details.find(({ field }: { field: string }) => field === "input.aspect_ratio");
  expect(ratio).toMatchObject({ reason: "required", allowed: ["16:9", "9:16", "1:1"] });
});

test("a drain that a person switches off says so, also one that was made so [WD10]", async () => {
  const service = await start();
  const body = { name: "off", url: "https://example.com/", secret: SECRET, enabled: false };
  const off = await ask(service, "POST", "/log-drains", { body });
  expect(off.body).toMatchObject({ enabled: false, disabled_reason: "disabled_by_user" });
  const made = await ask(service, "POST", "/log-drains", {
    body: { name: "d", url: "https://example.com/", secret: SECRET },
  });
  const path = `/log-drains/${made.body.id}`;
  await ask(service, "PATCH", path, { body: { enabled: false } });
  expect(await drainNow(service, made.body.id)).toMatchObject({ enabled: false, disabled_reason: "disabled_by_user" });
  await ask(service, "PATCH", path, { body: { enabled: true } });
  expect(await drainNow(service, made.body.id)).toMatchObject({ enabled: true, disabled_reason: null });
});

test("keys are listed for the requested workspace, never silently for another [WA13]", async () => {
  const service = await start();
  const own = (await get(service, "/keys")).body.data[0]?.workspace_id ?? "workspace_local";
  expect((await get(service, `/keys?workspace_id=${own}`)).status).toBe(200);
  expect((await get(service, "/keys?workspace_id=workspace_other")).status).toBe(403);
});

test("the id of a level names the model and the quality to use, for every model with levels [WM8]", async () => {
  const service = await start();
  const { body } = await get(service, "/models");
  let levels = 0;
  for (const { id } of body.data) {
    const { input_schema } = (await get(service, `/models/${id}`)).body;
    for (const level of input_schema.properties.quality?.enum ?? []) {
      levels++;
      const refused = await get(service, `/models/${id}-${level}`);
      expect([refused.status, refused.body.error.message]).toEqual([404, `Use ${id} with quality ${level}.`]);
    }
  }
  expect(levels).toBeGreaterThan(3);
});

test("a 429 names the limit [L2]", async () => {
  const service = await start({ rateLimit: { requests: 2, windowMs: 60_000 } });
  await get(service, "/balance");
  await get(service, "/balance");
  expect((await get(service, "/balance")).body.error.message).toBe("Rate limit exceeded: 2 requests per 60 seconds.");
});

test("an open catalog is read without a credential; a wrong one is still refused, and nothing else opens [WC10]", async () => {
  const service = await start({ openCatalog: true });
  const closed = await start();
  const bare = (base: string, path: string, headers = {}) => fetch(`${base}${path}`, { headers });
  const reads = ["/models", "/models/speech-1", "/models/speech-1/openapi.json", "/models/speech-1/voices"];
  for (const path of reads) {
    expect([path, (await bare(service.baseUrl, path)).status]).toEqual([path, 200]);
    expect([path, (await bare(closed.baseUrl, path)).status]).toEqual([path, 401]);
    expect((await bare(service.baseUrl, path, { Authorization: "Bearer a:b" })).status).toBe(401);
  }
  for (const path of ["/jobs", "/balance", "/models/image-1/jobs"])
    expect([path, (await bare(service.baseUrl, path)).status]).toEqual([path, 401]);
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
  expect((await client.model("speech-1")).id).toBe("speech-1");
  await client.close();
});
