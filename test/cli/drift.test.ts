import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createClient } from "../../src/index.ts";
import { startLocalService } from "../../src/local-service/index.ts";
import { startRecorder } from "../../src/local-service/recording/index.ts";
import { cli, emptyFolder } from "./support/cli.ts";

const KEY = "key_hosted:canary-5f0e9c71d2ab";

function model(maxLength: number, price: number) {
  const prompt = { type: "string", maxLength };
  return {
    id: "image-9",
    modality: "image",
    input_schema: { type: "object", required: ["prompt"], properties: { prompt } },
    x_local: { price_usd: price },
  };
}

const hosted = (...models: object[]) =>
  startLocalService({ renderer: "stub", keys: [KEY], catalog: models, balance: 9 });

test("says where a recorded service has moved, and asks for nothing that costs", async () => {
  const folder = emptyFolder();
  const before = await hosted(model(90, 0.04));
  const recorder = await startRecorder({ folder, baseUrl: before.baseUrl, port: 0, keepMedia: false, say: () => {} });
  const client = createClient({ baseUrl: recorder.baseUrl, apiKey: KEY });
  const request = { model: "image-9", input: { prompt: "a kettle" } };
  for await (const _ of client.models());
  await client.model(request.model);
  await client.openapi();
  await client.estimate(request);
  await client.submit({ ...request, idempotencyKey: "k" });
  await client.close();
  await recorder.close();
  const jobs = before.stats().jobs_created;
  const drift = (baseUrl: string, ...flags: string[]) =>
    cli(["drift", folder, "--base-url", baseUrl, ...flags], { env: { SHOWRUNNER_API_KEY: KEY } });

  const same = await drift(before.baseUrl);
  expect(same).toMatchObject({ code: 0, stdout: "" });
  expect(same.stderr).toContain("0 differences in 4 answers.");
  expect(before.stats().jobs_created).toBe(jobs);
  await before.close();

  const after = await hosted(model(80, 0.05));
  const moved = await drift(after.baseUrl, "--json");
  expect(moved.code, moved.stderr).toBe(1);
  const said = { field: "image-9.prompt", message: "maxLength was 90, is 80" };
  expect(JSON.parse(moved.stdout)).toEqual({
    asked: 4,
    not_asked: 0,
    differences: [
      { request: "GET /models/image-9", ...said },
      { request: "GET /openapi.json", ...said },
      expect.objectContaining({ request: "POST /models/image-9/estimate", field: "cost" }),
    ],
  });
  expect((await drift(after.baseUrl)).stdout).toContain(
    "GET /models/image-9\n  image-9.prompt: maxLength was 90, is 80\n",
  );
  expect(after.stats().jobs_created).toBe(0);
  await after.close();
});

test("names the folder where nothing is recorded, and how to record", async () => {
  const folder = emptyFolder();
  const drift = () => cli(["drift", folder, "--base-url", "http://127.0.0.1:9/v3"]);
  const none = await drift();
  expect(none.code).toBe(2);
  expect(none.stderr).toContain(`${folder} holds no recording.`);
  expect(none.stderr).toContain(`showrunner record ${folder}`);
  const head = { recording: 1, service: "http://127.0.0.1:9/v3", started_at: new Date(0).toISOString() };
  writeFileSync(join(folder, "recording.jsonl"), `${JSON.stringify(head)}\n`);
  const empty = await drift();
  expect(empty.code).toBe(2);
  expect(empty.stderr).toContain(`${folder} holds no answer of the catalog`);
});
