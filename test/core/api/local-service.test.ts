import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Client, createClient, type FollowEvent, usableOutputs } from "../../../src/core/api/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { newFolder } from "../../support/temporary-folder.ts";

let service: LocalService;
let client: Client;
const folder = newFolder();
beforeEach(async () => {
  service = await startLocalService({ renderer: "stub" });
  client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
});
afterEach(async () => {
  await client.close();
  await service.close();
});

async function follow(jobId: string, strategy: "stream" | "poll" | "webhook" | "auto") {
  const told: FollowEvent[] = [];
  for await (const event of client.follow(jobId, { strategy })) told.push(event);
  const end = told.at(-1);
  if (end?.type !== "finished") throw new Error("the follow did not end with finished");
  return { told, job: end.job };
}

for (const strategy of ["stream", "poll", "auto"] as const) {
  test(`an image is priced, submitted, followed by ${strategy}, downloaded and paid once [S2 S3]`, async () => {
    const wanted = { prompt: "a red fox" };
    const estimate = await client.estimate({ model: "image-1", input: wanted });
    const before = await client.balance();
    const request = { model: "image-1", input: wanted, idempotencyKey: "key-1" };
    const ack = await client.submit(request);
    expect(await client.submit(request)).toMatchObject({ jobId: ack.jobId, replayed: true });
    const { job } = await follow(ack.jobId, strategy);
    expect(job).toMatchObject({ status: "COMPLETED", costMicros: estimate.costMicros });
    expect(before.balanceMicros - (await client.balance()).balanceMicros).toBe(estimate.costMicros);
    expect(usableOutputs(job)).toHaveLength(1);
    const file = await client.download({ jobId: job.jobId, outputIndex: 0 }, join(folder, "fox.png"));
    expect(file.sha256).toBe(
      createHash("sha256")
        .update(await readFile(file.path))
        .digest("hex"),
    );
    expect(file.contentType).toBe(job.outputs[0]!.contentType);
    expect(service.stats()).toMatchObject({ jobs_created: 1, replayed_submits: 1 });
  });
}

test("an uploaded file and an earlier output feed a job, and the bytes' own kind is reported [O7 O16]", async () => {
  const first = await client.submit({ model: "image-1", input: { prompt: "a" }, idempotencyKey: "a" });
  const { job } = await follow(first.jobId, "stream");
  const path = join(folder, "first");
  await client.download({ jobId: job.jobId, outputIndex: 0, url: job.outputs[0]!.url }, path);
  const handle = await client.upload({ path }, { kind: "image" });
  expect(handle.contentType).toMatch(/^image\//);
  expect(Date.parse(handle.expiresAt)).toBeGreaterThan(Date.now());
  const images = [
    { source: "url", url: handle.url },
    { source: "asset", asset_id: job.outputs[0]!.assetId },
  ];
  const second = await client.submit({ model: "image-1", input: { prompt: "b", images }, idempotencyKey: "b" });
  expect((await follow(second.jobId, "poll")).job.status).toBe("COMPLETED");
});

test("lists page through jobs, newest first, and logs oldest first", async () => {
  const wanted = { prompt: "a" };
  const made: string[] = [];
  for (let index = 0; index < 5; index++)
    made.push((await client.submit({ model: "image-1", input: wanted, idempotencyKey: `k${index}` })).jobId);
  await follow(made[4]!, "stream");
  const listed: string[] = [];
  for await (const job of client.jobs({ limit: 2 })) listed.push(job.jobId);
  expect(listed).toEqual(made.toReversed());
  const logs: number[] = [];
  for await (const log of client.logs(made[4]!, { limit: 1 })) logs.push(log.id);
  expect(logs).toEqual(logs.toSorted((a, b) => a - b));
  expect(logs.length).toBeGreaterThan(1);
});
