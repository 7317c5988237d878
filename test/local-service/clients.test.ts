import { readdir } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { EventSource } from "eventsource";
import { expect, test } from "vitest";
import { PICTURE } from "../../src/local-service/start.ts";
import { type Body, get, made, start, upload } from "./support/service.ts";

test("a standard EventSource client follows a job, through a cut, to done [S20 WS7]", async () => {
  const service = await start();
  const job = await made(service, "image-1", { prompt: "x" });
  service.faults([{ kind: "cut_stream", after_frames: 4, count: 1 }]);
  const seen: string[] = [];
  await new Promise<void>((resolve) => {
    const source = new EventSource(`${service.baseUrl}/jobs/${job.job_id}/stream`, {
      fetch: (url, init) =>
        fetch(url, { ...init, headers: { ...init.headers, Authorization: `Bearer ${service.apiKey}` } }),
    });
    source.addEventListener("status", (event) => seen.push(JSON.parse(event.data).status));
    source.addEventListener("log", (event) => seen.push(event.lastEventId));
    source.addEventListener("done", () => {
      source.close();
      resolve();
    });
  });
  expect(seen.filter((item) => /^\d$/.test(item))).toEqual(["1", "2", "3", "4", "5", "6", "7"]);
  expect(seen.at(-1)).toBe("COMPLETED");
  expect(service.stats().requests["GET /jobs/{job_id}/stream"]).toEqual({ "200": 3 });
});

test("a downloader that resumes by ranges gets every byte once", async () => {
  const service = await start();
  const { url } = (await made(service, "video-1", { prompt: "x", aspect_ratio: "1:1", duration_ms: 3000 })).outputs[0];
  const whole = Buffer.from(await (await fetch(url)).arrayBuffer());
  const pieces: Buffer[] = [];
  for (let at = 0; at < whole.length; at += 300) {
    const piece = await fetch(url, { headers: { Range: `bytes=${at}-${at + 299}` } });
    const end = Math.min(at + 299, whole.length - 1);
    expect(piece.headers.get("content-range")).toBe(`bytes ${at}-${end}/${whole.length}`);
    pieces.push(Buffer.from(await piece.arrayBuffer()));
  }
  expect(Buffer.concat(pieces)).toEqual(whole);
  const head = await fetch(url, { method: "HEAD" });
  expect([head.status, head.headers.get("content-length")]).toEqual([200, String(whole.length)]);
  const etag = head.headers.get("etag") ?? "";
  expect((await fetch(url, { headers: { "If-None-Match": etag } })).status).toBe(304);
});

test("a large upload without a credential is answered 401, and the connection does not hang", async () => {
  const service = await start();
  const form = new FormData();
  form.append("file", new Blob([new Uint8Array(20_000_000)]), "blob");
  const reply = await fetch(`${service.baseUrl}/files`, { method: "POST", body: form }).catch(() => null);
  expect(reply === null || reply.status === 401).toBe(true);
  expect((await get(service, "/balance")).status).toBe(200);
});

test("an upload that is cut short, too large, not multipart, or without a file part leaves nothing behind", async () => {
  const service = await start({ maxUploadBytes: 1000 });
  const headers = { Authorization: `Bearer ${service.apiKey}` };
  const url = `${service.baseUrl}/files`;
  await new Promise<void>((resolve) => {
    const form = { "Content-Type": "multipart/form-data; boundary=b", "Content-Length": 5000 };
    const half = request(url, { method: "POST", headers: { ...headers, ...form } });
    half.on("error", () => resolve()).on("response", (answer) => answer.resume().on("close", resolve));
    half.write('--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nhalf', () => half.destroy());
  });
  expect((await upload(service, new Uint8Array(1001))).body.error.details[0]).toMatchObject({
    field: "file",
    reason: "max_file_size_bytes",
  });
  const reason = async (more: object, body: string | FormData) => {
    const reply = await fetch(url, { method: "POST", headers: { ...headers, ...more }, body });
    return ((await reply.json()) as Body).error.details[0].reason;
  };
  expect(await reason({ "Content-Type": "application/json" }, "{}")).toBe("content_type");
  const other = new FormData();
  other.append("other", "x");
  expect(await reason({}, other)).toBe("required");
  expect((await upload(service, PICTURE.bytes)).status).toBe(201);
  expect(await readdir(join(service.dataDir, "incoming"))).toEqual([]);
});

test("an empty body counts as none where a body is optional", async () => {
  const service = await start();
  const headers = { Authorization: `Bearer ${service.apiKey}`, "Content-Length": "0", Accept: "*/*", "X-Unknown": "1" };
  expect((await fetch(`${service.baseUrl}/tokens`, { method: "POST", headers })).status).toBe(201);
});
