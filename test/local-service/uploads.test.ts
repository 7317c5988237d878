/** Uploads are judged by their bytes, like at a hosted service; decoding faults show in the job that reads the file. */
import { writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { LocalService } from "../../src/local-service/index.ts";
import { probe } from "../../src/local-service/render/index.ts";
import { sampled } from "../support/sample.ts";
import { openBench } from "./render/bench.ts";
import { mediaSamples, type SampleName } from "./support/media-samples.ts";
import { type Body, estimate, finished, post, read, refusal, start, submit, upload } from "./support/service.ts";

const { path } = await openBench(1);
const samples = await mediaSamples();
const NAMES = Object.keys(samples) as SampleName[];

/** A job of the kind that reads such a file. */
function jobOf(name: SampleName, file: Body, good: Body): { readonly model: string; readonly input: object } {
  const film = { prompt: "x", aspect_ratio: "16:9", duration_ms: 3000 };
  const talk = { prompt: "x", aspect_ratio: "16:9", resolution: "720p" };
  switch (samples[name].kind) {
    case "image":
      return { model: "video-1", input: { ...film, start_image: file } };
    case "video":
      return { model: "upscale-1", input: { source_video: file } };
    case "audio":
      return { model: "avatar-1", input: { ...talk, start_image: good, audio: file } };
  }
}

async function handle(service: LocalService, bytes: Uint8Array) {
  const { status, body } = await upload(service, bytes);
  expect([status, body.error]).toEqual([201, undefined]);
  return { source: "url", url: body.url };
}

async function run(service: LocalService, name: SampleName, bytes: Uint8Array) {
  const good = await handle(service, samples.png.bytes);
  const { model, input } = jobOf(name, await handle(service, bytes), good);
  const { job_id } = await submit(service, model, input);
  return finished(service, job_id);
}

const cut = (bytes: Buffer) => bytes.subarray(0, Math.floor(bytes.length * 0.6));

/** Its first bytes, and nothing of sense after them: 64 tell every format apart, and 16 a WAV, whose samples are never wrong. */
function spoilt(name: SampleName): Buffer {
  const bytes = Buffer.from(samples[name].bytes);
  for (let i = name === "wav" ? 16 : 64; i < bytes.length; i++) bytes[i] = (i * 73 + (i >> 3) * 29) & 255;
  return bytes;
}

describe.each(NAMES)("%s", (name) => {
  const { bytes, kind, contentType, width, height, durationMs } = samples[name];

  test("is known by its bytes, whatever name and type are declared, and its facts are right [WA2]", async () => {
    const service = await start();
    for (const [type, fileName] of Object.entries({
      "text/plain": "a.txt",
      "image/png": "a.png",
      "audio/mpeg": "a.mp3",
    })) {
      const form = new FormData();
      form.append("file", new Blob([Uint8Array.from(bytes)], { type }), fileName);
      const headers = { Authorization: `Key ${service.apiKey}` };
      const response = await fetch(`${service.baseUrl}/files`, { method: "POST", headers, body: form });
      expect([response.status, ((await response.json()) as Body).content_type]).toEqual([201, contentType]);
    }
    await writeFile(path(name), bytes);
    const facts = { ok: true, kind, contentType, width, height };
    const found = await probe(path(name));
    expect(found).toMatchObject(facts);
    // Coders of lossy sound add a part of a frame or two.
    if (found.ok && durationMs !== null) expect(Math.abs((found.durationMs ?? 0) - durationMs)).toBeLessThan(50);
    else expect(found).toMatchObject({ durationMs: null });
  });

  test("whole, a job reads it to the end; beyond the size that its field allows, it is refused", async () => {
    const service = await start();
    expect(await run(service, name, bytes)).toMatchObject({ status: "COMPLETED", error: null });
    const catalog = await read(service, "/models/video-1");
    const field = { ...catalog.input_schema.properties.start_image, media_type: kind, max_file_size_bytes: 100 };
    const input_schema = { type: "object", properties: { medium: field } };
    const small = await start({ catalog: [{ id: "small-1", modality: "video", input_schema }] });
    const input = { medium: await handle(small, bytes) };
    const refused = await post(small, "/models/small-1", { input });
    expect(refused.body.error.details).toMatchObject([{ field: "input.medium", reason: "max_file_size_bytes" }]);
  });

  const ways = [
    ["cut short", cut(bytes)],
    ["spoilt after its first bytes", spoilt(name)],
  ] as const;
  // A full check breaks a file of every format.
  test.each(sampled(NAMES, 3).includes(name) ? ways : [])(
    "%s, it is taken, and fails only the job that reads it, refunded",
    async (how, broken) => {
      const service = await start();
      const before = (await read(service, "/balance")).balance;
      const job = await run(service, name, broken);
      // What is left of an MP3 plays on; nothing in it says how long it was.
      if (name === "mp3" && how === "cut short") return expect(job.status).toBe("COMPLETED");
      const message = expect.stringMatching(/cannot be decoded/);
      const error = { code: "INVALID_ARGUMENT", retryable: false, message };
      expect(job).toMatchObject({ status: "FAILED", cost: 0, error });
      expect((await read(service, "/balance")).balance).toBe(before);
      expect(await run(service, name, bytes)).toMatchObject({ status: "COMPLETED" });
    },
  );
});

test("a PNG whose chunks are damaged from the first on is still a PNG", async () => {
  const service = await start();
  const bytes = Buffer.from(samples.png.bytes);
  bytes.writeUInt32BE(0xfffffff0, 8);
  expect((await upload(service, bytes)).body).toMatchObject({ content_type: "image/png" });
  expect(await run(service, "png", bytes)).toMatchObject({ status: "FAILED", error: { code: "INVALID_ARGUMENT" } });
});

test.each([
  ["text", Buffer.from("hello, this is text and nothing else, long enough to be looked at")],
  ["nothing", new Uint8Array(0)],
  ["an AIFF", Buffer.concat([Buffer.from("FORM\0\0\0\x20AIFFCOMM"), Buffer.alloc(64)])],
  ["a PDF", Buffer.from("%PDF-1.7\n1 0 obj\n<<>>\nendobj\n%%EOF\n".padEnd(200))],
  ["a Matroska film", Buffer.concat([Buffer.from("1a45dfa38b4282886d6174726f736b61", "hex"), Buffer.alloc(64)])],
  ["the first bytes of a PNG alone", samples.png.bytes.subarray(0, 4)],
])("%s is none of the formats and is refused at once", async (_, bytes) => {
  const service = await start();
  const error = { code: "INVALID_ARGUMENT", param: "file" };
  expect(await upload(service, bytes)).toMatchObject(refusal(400, error));
});

test("what the length of a sound costs cannot be quoted where it cannot be measured", async () => {
  const service = await start();
  const good = await handle(service, samples.png.bytes);
  const { model, input } = jobOf("flac", await handle(service, spoilt("flac")), good);
  const { body } = await estimate(service, model, input);
  expect(body).toMatchObject({ quotable: false, reason: "The duration of input.audio cannot be measured." });
});
