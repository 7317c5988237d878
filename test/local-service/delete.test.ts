import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { LocalService } from "../../src/local-service/index.ts";
import { SOUND } from "../../src/local-service/start.ts";
import { ask, finished, frames, made, post, read, start, startHeld, submit, uploaded } from "./support/service.ts";

const remove = (service: LocalService, jobId: string) => ask(service, "DELETE", `/jobs/${jobId}`);

test("a delete removes prompt, logs and media, and the job stays listed [J11 J12 J15 O3 O8 P17 T5 T6 T7 T9 WJ15 WJ16]", async () => {
  const service = await start();
  const ack = await submit(service, "image-1", { prompt: "secret" }, { idempotency_key: "k" });
  const before = await finished(service, ack.job_id);
  for (let turn = 0; turn < 2; turn++) expect((await remove(service, ack.job_id)).status).toBe(204);
  const after = await read(service, `/jobs/${ack.job_id}`);
  for (const name of ["prompt", "logs"]) expect(after).not.toHaveProperty(name);
  expect(after.outputs).toMatchObject([{ status: "EXPIRED", url: null, asset_id: null }]);
  expect(await read(service, `/jobs/${ack.job_id}/logs`)).toEqual({ data: [], next_cursor: null });
  const tail = await read(service, `/jobs/${ack.job_id}/status?logs_after=start`);
  expect(tail).toMatchObject({ status: "COMPLETED", logs: [] });
  expect((await frames(service, ack.job_id)).map((frame) => frame.event)).toEqual(["status", "status", "done"]);
  const [listed] = (await read(service, "/jobs")).data;
  expect(listed).toMatchObject({ job_id: ack.job_id, model: "image-1", status: "COMPLETED", cost: 0.02 });
  expect((await fetch(before.outputs[0].url)).status).toBe(404);
  const replay = await post(service, "/models/image-1", { input: {}, idempotency_key: "k" });
  expect(replay.body).toEqual(ack);
});

test("failed outputs turn EXPIRED too [T5]", async () => {
  const service = await start();
  service.faults([{ kind: "fail_output", outputs: [0], code: "MODERATION_FAILED" }]);
  const job = await made(service, "image-1", { prompt: "x", num_outputs: 2 });
  expect(job.outputs[0].error).toMatchObject({ code: "MODERATION_FAILED" });
  await remove(service, job.job_id);
  const { outputs } = await read(service, `/jobs/${job.job_id}`);
  expect(outputs).toMatchObject(Array(2).fill({ status: "EXPIRED", error: null }));
});

test("409 while the job runs, and while a job that reads its output runs; the reader is untouched afterwards [E36 P18 P19 T8 WJ18]", async () => {
  const service = await startHeld({ speed: 1 });
  const source = await submit(service, "image-1", { prompt: "x" });
  const busy = await remove(service, source.job_id);
  expect(busy).toMatchObject({ status: 409, body: { error: { code: "ALREADY_IN_PROGRESS" } } });
  expect(busy.headers.get("retry-after")).toBe("2");
  await service.clock.advance(300);
  await service.clock.advance(2000);
  const { asset_id } = (await finished(service, source.job_id)).outputs[0];
  const images = [{ source: "asset", asset_id }];
  const reader = await submit(service, "image-1", { prompt: "y", images });
  expect((await remove(service, source.job_id)).status).toBe(409);
  await service.clock.advance(300);
  await service.clock.advance(2000);
  const before = await finished(service, reader.job_id);
  expect((await remove(service, source.job_id)).status).toBe(204);
  const { status, outputs } = await read(service, `/jobs/${reader.job_id}`);
  expect({ status, asset: outputs[0].asset_id }).toEqual({ status: "COMPLETED", asset: before.outputs[0].asset_id });
  const late = await post(service, "/models/image-1", { input: { prompt: "z", images } });
  expect(late.body.error.details[0]).toMatchObject({ field: "input.images[0].asset_id", reason: "expired" });
});

test("a voice-clone job is not deleted, and its voice stays usable by its account only [E27 O11 P20 WC15 WJ14 WJ17 WM4]", async () => {
  const service = await start();
  const job = await made(service, "voice-clone-1", { audio: await uploaded(service, SOUND.bytes), name: "me" });
  const { voice_id, ...rest } = job.outputs[0];
  expect(voice_id).toMatch(/^voice_[0-9a-f-]{36}$/);
  expect(rest).toMatchObject({ status: "COMPLETED", url: null, asset_id: null, content_type: null });
  const kept = { status: 400, body: { error: { code: "INVALID_ARGUMENT" } } };
  expect(await remove(service, job.job_id)).toMatchObject(kept);
  await service.clock.advance(49 * 3_600_000);
  expect((await read(service, `/jobs/${job.job_id}`)).outputs[0]).toMatchObject({ status: "COMPLETED", voice_id });
  await submit(service, "speech-1", { text: "Hello", voice_id });
  const { credential } = (await post(service, "/_local/keys", { owner_id: "other" })).body;
  const detail = async (voice_id: string, who = service.apiKey) =>
    (await post(service, "/models/speech-1/estimate", { input: { text: "Hello", voice_id } }, who)).body.error
      .details[0];
  expect(await detail(voice_id, credential)).toMatchObject({ field: "input.voice_id", reason: "not_found" });
  expect((await detail(job.job_id)).message).toContain("outputs[].voice_id");
  const { data } = await read(service, "/models/speech-1/voices");
  expect(data.map((voice: { name: string }) => voice.name)).toEqual(["Sally", "Robert", "Alan", "Kevin", "me"]);
});

test("a delete that could not be finished is 503, and repeating it finishes it [P21]", async () => {
  const service = await start();
  const job = await made(service, "image-1", { prompt: "x" });
  service.faults([{ kind: "delete_unavailable", count: 1 }]);
  const refused = await remove(service, job.job_id);
  const error = { code: "UNAVAILABLE", retryable: true, retry_after: 1 };
  expect(refused).toMatchObject({ status: 503, body: { error } });
  expect(refused.headers.get("retry-after")).toBe("1");
  expect((await remove(service, job.job_id)).status).toBe(204);
});

/** Puts a folder in the way of the only asset's file, which cannot be removed then; `free` puts the file back. */
async function blockedAsset(service: LocalService) {
  const assets = join(service.dataDir, "assets");
  const [name = ""] = (await readdir(assets, { recursive: true })).filter((path) => path.includes("asset_"));
  const file = join(assets, name);
  await rename(file, `${file}.aside`);
  await mkdir(join(file, "in-the-way"), { recursive: true });
  const free = async () => {
    await rm(file, { recursive: true });
    await rename(`${file}.aside`, file);
  };
  return { file, free };
}

test("a delete whose media cannot be removed is 503, shows nothing all the same, and is finished by the next one [E40 P21]", async () => {
  const defects: unknown[] = [];
  const service = await start({ onDefect: (error) => defects.push(error) });
  const { job_id, outputs } = await made(service, "image-1", { prompt: "x" });
  const { file, free } = await blockedAsset(service);
  expect(await remove(service, job_id)).toMatchObject({ status: 503, body: { error: { code: "UNAVAILABLE" } } });
  expect(defects).toHaveLength(1);
  expect((await read(service, `/jobs/${job_id}`)).outputs).toMatchObject([{ status: "EXPIRED", asset_id: null }]);
  const images = [{ source: "asset", asset_id: outputs[0].asset_id }];
  const late = await post(service, "/models/image-1/estimate", { input: { prompt: "y", images } });
  expect(late.body.error.details[0]).toMatchObject({ reason: "expired" });
  await free();
  expect((await fetch(outputs[0].url)).status).toBe(404);
  expect((await remove(service, job_id)).status).toBe(204);
  await expect(stat(file)).rejects.toThrow("ENOENT");
});

test("a delete that nobody repeats is finished when the media would have expired", async () => {
  const service = await start({ onDefect: () => undefined });
  const { job_id } = await made(service, "image-1", { prompt: "x" });
  const { file, free } = await blockedAsset(service);
  expect((await remove(service, job_id)).status).toBe(503);
  await free();
  await service.clock.advance(49 * 3_600_000);
  await vi.waitFor(() => expect(stat(file)).rejects.toThrow("ENOENT"), { timeout: 4000, interval: 50 });
});
