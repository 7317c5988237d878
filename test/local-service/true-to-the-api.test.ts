/** Where answers once differed from what typed clients of the API expect. */
import { expect, test } from "vitest";
import { createdKey } from "../../src/core/api/endpoints/account.ts";
import { clientOf, estimate, get, made, read, start } from "./support/service.ts";

test.each([
  [{}, null],
  [{ scopes: null }, "all"],
  [{ scopes: [] }, []],
  [{ scopes: ["jobs:read"] }, ["jobs:read"]],
])("our client reads scopes of %j as %j: what is not said is not full access", (said, scopes) => {
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
    const { body } = await estimate(service, "upscale-1", input);
    expect(body).toEqual({ model: "upscale-1", currency: "USD", quotable: false, reason: expect.any(String), ...said });
    const quote = await clientOf(service).estimate({ model: "upscale-1", input });
    expect(quote).toMatchObject({ costMicros: null, quotable: false });
  },
);

test("customized shots are charged and take as long as they last together, whatever duration_ms says [V21]", async () => {
  const service = await start();
  const multi_prompt = [1000, 3000].map((duration_ms) => ({ prompt: "a", duration_ms }));
  const film = { aspect_ratio: "16:9", duration_ms: 10_000, multi_prompt, generate_audio: false };
  const cost = async (shot_type: string) => (await estimate(service, "video-1", { ...film, shot_type })).body.cost;
  expect([await cost("customize"), await cost("intelligent")]).toEqual([0.2, 0.5]);
});

test("keys are listed for the requested workspace, never silently for another [WA13]", async () => {
  const service = await start();
  const own = (await read(service, "/keys")).data[0]?.workspace_id ?? "workspace_local";
  expect((await get(service, `/keys?workspace_id=${own}`)).status).toBe(200);
  expect((await get(service, "/keys?workspace_id=workspace_other")).status).toBe(403);
});

test("the id of a level names the model and the quality to use, for every model with levels [WM8]", async () => {
  const service = await start();
  const { body } = await get(service, "/models");
  let levels = 0;
  for (const { id } of body.data) {
    const { input_schema } = await read(service, `/models/${id}`);
    for (const level of input_schema.properties.quality?.enum ?? []) {
      levels++;
      const refused = await get(service, `/models/${id}-${level}`);
      expect([refused.status, refused.body.error.message]).toEqual([404, `Use ${id} with quality ${level}.`]);
    }
  }
  expect(levels).toBeGreaterThan(3);
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
  expect((await clientOf(service).model("speech-1")).id).toBe("speech-1");
});
