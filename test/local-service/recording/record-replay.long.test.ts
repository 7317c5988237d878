import { readdirSync, readFileSync, rmSync } from "node:fs";
import { appendFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createMemoryJournal, openShowrunner, pipeline } from "../../../src/index.ts";
import { startLocalService } from "../../../src/local-service/index.ts";
import { startRecorder } from "../../../src/local-service/recording/index.ts";
import { startStudio } from "../../../src/testing/index.ts";
import { fastFolder } from "../../../src/testing/surroundings.ts";
import { during } from "../../support/fake-showrunner.ts";
import { listen } from "../../support/listen.ts";
import { leaksIn, secretForms } from "../../support/secret-forms.ts";
import { SimulatedClock } from "../../support/simulated-clock.ts";
import { PIXEL } from "../../support/tiny-media.ts";
import { clientOf } from "../support/service.ts";

const SECRET = "canary-5f0e9c71d2ab";
const KEY = `key_hosted:${SECRET}`;
const image = { prompt: "a kettle", aspect_ratio: "1:1" } as const;

const ad = pipeline("ad", { input: z.object({}), build: ({ job }) => ({ picture: job("picture", "image-1", image) }) });

/** Ended last to first, as vitest calls them. */
const later = (end: () => unknown) => onTestFinished(async () => void (await end()));

async function folderFor(): Promise<string> {
  const folder = await fastFolder("recording-");
  later(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function hosted() {
  const service = await startLocalService({ renderer: "stub", keys: [KEY], balance: 100 });
  later(() => service.close());
  return service;
}

async function recorderOf(baseUrl: string, folder: string, keepMedia = false) {
  const recorder = await startRecorder({ folder, baseUrl, port: 0, keepMedia, say: () => {} });
  later(() => recorder.close());
  return recorder;
}

/** A client whose calls to a hosted service are recorded. */
async function recordedClient() {
  const folder = await folderFor();
  const recorder = await recorderOf((await hosted()).baseUrl, folder);
  return { folder, recorder, recording: clientOf({ baseUrl: recorder.baseUrl, apiKey: KEY }) };
}

async function replaying(folder: string, more: { speed?: "fast" | "real"; orLocal?: boolean } = {}) {
  const service = await startLocalService({ renderer: "stub", replay: { folder, ...more } });
  later(() => service.close());
  return service;
}

async function runOn(baseUrl: string, apiKey: string, id = "run", clock?: SimulatedClock) {
  const folder = await folderFor();
  const show = await openShowrunner({
    baseUrl,
    apiKey,
    journal: createMemoryJournal(),
    mediaDir: join(folder, "media"),
    ...(clock !== undefined && { clock }),
  });
  try {
    return await (await show.run(ad, {}, { id, budget: "5", outDir: join(folder, "out") })).result();
  } finally {
    await show.close();
  }
}

function everything(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map((entry) => entry.name + readFileSync(join(entry.parentPath, entry.name), "latin1")).join("\n");
}

const read = (folder: string) => readFileSync(join(folder, "recording.jsonl"), "utf8");

test.each([true, false])("a run is recorded, media kept: %s, and replayed without the service", async (keepMedia) => {
  const folder = await folderFor();
  const service = await hosted();
  const recorder = await recorderOf(service.baseUrl, folder, keepMedia);
  const before = await runOn(recorder.baseUrl, KEY);
  expect(before.status).toBe("succeeded");
  await recorder.close();
  await service.close();
  expect(leaksIn(everything(folder), SECRET)).toEqual([]);
  expect(everything(folder)).not.toMatch(/signature=|authorization/i);

  const replayed = await replaying(folder);
  const after = await runOn(replayed.baseUrl, replayed.apiKey);
  expect(after).toMatchObject({ status: "succeeded", cost: before.cost });
  expect(replayed.stats()).toMatchObject({ unrecorded: [], jobs_created: 0 });
  const again = await runOn(replayed.baseUrl, replayed.apiKey, "again");
  expect(again.status).toBe("succeeded");
});

test("a studio replays a recording in a user's own test", async () => {
  const folder = await folderFor();
  const service = await hosted();
  const recorder = await recorderOf(service.baseUrl, folder);
  const { cost } = await runOn(recorder.baseUrl, KEY);
  await recorder.close();
  await using studio = await startStudio({ replay: { folder } });
  const run = await studio.run(ad, {}, { budget: "5" });
  expect(run).toMatchObject({ status: "succeeded", cost });
  await studio.assertWithinBudget(run);
  expect(studio.service.stats()).toMatchObject({ unrecorded: [], jobs_created: 0 });
});

test("a key is answered with its first acknowledgement, and a further key with a job of its own", async () => {
  const { folder, recorder, recording } = await recordedClient();
  const first = await recording.submit({ model: "image-1", input: image, idempotencyKey: "k1" });
  for await (const _ of recording.follow(first.jobId));
  await recorder.close();

  const replayed = await replaying(folder);
  const client = clientOf(replayed);
  const submit = (idempotencyKey: string, model = "image-1") => client.submit({ model, input: image, idempotencyKey });
  const one = await submit("a");
  expect(one).toMatchObject({ jobId: first.jobId, replayed: false });
  expect(await submit("a")).toMatchObject({ jobId: first.jobId, replayed: true });
  const two = await submit("b");
  expect(two).toMatchObject({ jobId: `${first.jobId}~2`, replayed: false });
  await expect(submit("a", "image-2")).rejects.toThrow();
  const result = await client.job(two.jobId).catch(() => null);
  if (result !== null) expect(result.jobId).toBe(two.jobId);
});

test("what is not recorded is refused by name, or served by the local service", async () => {
  const { folder, recorder, recording } = await recordedClient();
  await recording.submit({ model: "image-1", input: image, idempotencyKey: "k1" });
  await recorder.close();
  const strict = await replaying(folder);
  const other = { model: "image-1", input: { ...image, prompt: "a cup" }, idempotencyKey: "k" };
  const refused = /not in the recording .*differs in input\.prompt.*showrunner record/;
  await expect(clientOf(strict).submit(other)).rejects.toThrow(refused);
  expect(strict.stats().unrecorded).toHaveLength(1);
  const loose = await replaying(folder, { orLocal: true });
  expect(await clientOf(loose).submit(other)).toMatchObject({ replayed: false });
  expect(loose.stats().jobs_created).toBe(1);
});

test("no form of a secret that a service or a caller says is in the recording [no secrets recorded]", async () => {
  const folder = await folderFor();
  const said = Object.values(secretForms).map((write) => write(SECRET));
  const server = await listen(
    createServer((incoming, outgoing) => {
      incoming.resume();
      const headers = {
        "Content-Type": "application/json",
        Location: `/x?sig=${SECRET}`,
        "Set-Cookie": `id=${SECRET}`,
      };
      outgoing.writeHead(incoming.url?.includes("jobs") ? 503 : 200, { ...headers, "X-Echo": SECRET });
      const asset = { asset_id: `asset-${SECRET}`, url: `https://media.test/${SECRET}.png?X-Sig=${SECRET}` };
      const logo_url = `https://u:${SECRET}@x.test/a?b=${SECRET}`;
      outgoing.end(JSON.stringify({ said, [SECRET]: 1, outputs: [asset], logo_url }));
    }),
  );
  later(() => server.close());
  const recorder = await recorderOf(`${server.origin}/v3`, folder);
  const headers = { authorization: `Key ${KEY}`, cookie: `c=${SECRET}`, "content-type": "application/json" };
  const input = { prompt: said.join(" ") };
  const body = JSON.stringify({ input, webhook: `https://x.test/${SECRET}`, idempotency_key: SECRET });
  const send = async (path: string, more: RequestInit = {}) =>
    (await fetch(recorder.baseUrl + path, { headers, ...more })).text();
  for (const path of ["/models", `/models/${SECRET}?token=${SECRET}&cursor=${SECRET}`, "/jobs/job_1", "/balance"])
    await send(path);
  await send("/models/m", { method: "POST", body });
  const form = new FormData();
  form.set("file", new Blob([PIXEL]), `${SECRET}.png`);
  await send("/files", { method: "POST", headers: { authorization: headers.authorization }, body: form });
  // Endpoints that issue credentials pass by.
  await send("/keys");
  await recorder.close();
  expect(read(folder).split("\n").length).toBeGreaterThan(6);
  expect(leaksIn(everything(folder), SECRET)).toEqual([]);
  expect(read(folder)).not.toContain("/keys");
});

test("another host's name and what is not below the base are refused", async () => {
  const folder = await folderFor();
  const service = await hosted();
  const recorder = await recorderOf(service.baseUrl, folder);
  const { port } = new URL(recorder.baseUrl);
  const ask = (path: string, host: string) =>
    new Promise<number>((resolve, reject) => {
      const options = { host: "127.0.0.1", port, path, headers: { host } };
      request(options, (answer) => resolve(answer.resume().statusCode ?? 0))
        .on("error", reject)
        .end();
    });
  expect(await ask("/v3/models", "evil.test")).toBe(404);
  expect(await ask("/v3/../_local/stats", `127.0.0.1:${port}`)).toBe(404);
  expect(await ask("//evil.test/v3/models", `127.0.0.1:${port}`)).toBe(404);
});

test("a torn last line is passed over, and cut off by the next recorder", async () => {
  const folder = await folderFor();
  const service = await hosted();
  const first = await recorderOf(service.baseUrl, folder);
  const balance = async ({ baseUrl }: { readonly baseUrl: string }) =>
    (await fetch(`${baseUrl}/balance`, { headers: { authorization: `Key ${KEY}` } })).text();
  await balance(first);
  await first.close();
  const whole = read(folder);
  await appendFile(join(folder, "recording.jsonl"), '{"at_ms":1,"request":"GET /mod');
  await (await replaying(folder)).close();
  const second = await recorderOf(service.baseUrl, folder);
  // The same answer again is no new line.
  await balance(second);
  await second.close();
  expect(read(folder)).toBe(whole);
});

test("the run of a recording that is cut off pauses at the job that has no end, and names the recording and its half line", async () => {
  const folder = await folderFor();
  const recorder = await recorderOf((await hosted()).baseUrl, folder);
  expect((await runOn(recorder.baseUrl, KEY)).status).toBe("succeeded");
  await recorder.close();
  const lines = read(folder).split("\n");
  const kept = lines.findIndex((one) => one.includes('"status":202')) + 1;
  const whole = lines.slice(0, kept).join("\n");
  await writeFile(join(folder, "recording.jsonl"), `${whole}\n${lines[kept]!.slice(0, 40)}`);
  const replayed = await replaying(folder);
  const clock = new SimulatedClock();
  const { report } = await during(clock, runOn(replayed.baseUrl, replayed.apiKey, "run", clock));
  expect(report).toMatchObject({ status: "paused", pause: { reason: "unresolved" } });
  expect(report.message).toContain(`is not in the recording ${folder} of`);
  expect(report.message).toContain(`(its last line, ${kept + 1}, is cut off)`);
});

const HEAD = '{"recording":1,"service":"https://x.test/v3","started_at":"2026-01-01T00:00:00.000Z"}\n';
const asset = (sha256: string) => JSON.stringify({ asset: "a", sha256, size_bytes: 9, content_type: "image/png" });
const line = (more: object) =>
  JSON.stringify({ at_ms: 0, request: "GET /balance", status: 200, headers: {}, answer: {}, ...more });

test.each([
  ["a version of tomorrow", HEAD.replace("1", "2")],
  ["media outside the folder", `${HEAD}${asset("../../../../etc/passwd")}\n`],
  ["a status that is none", `${HEAD}${line({ status: 99_999 })}\n`],
  ["a number beyond all bounds", `${HEAD}${line({ at_ms: 1e300 })}\n`],
  ["a request of two lines", `${HEAD}${line({ request: "GET /a\r\nX: y" })}\n`],
  ["a line that is no JSON", `${HEAD}{{{\n`],
])("a recording with %s is refused", async (_what, text) => {
  const folder = await folderFor();
  await writeFile(join(folder, "recording.jsonl"), text);
  await expect(startLocalService({ replay: { folder } })).rejects.toMatchObject({ code: "RECORDING_UNUSABLE" });
});

test("a recording that is a link is refused, and kept media that are links or other bytes are not served", async () => {
  const [folder, linked] = [await folderFor(), await folderFor()];
  await writeFile(join(folder, "other"), HEAD);
  await symlink(join(folder, "other"), join(linked, "recording.jsonl"));
  await expect(startLocalService({ replay: { folder: linked } })).rejects.toMatchObject({ code: "RECORDING_UNUSABLE" });

  const sha256 = "a".repeat(64);
  const output = { asset_id: "a", url: "recorded:output", content_type: "image/png", width: 1e308, height: -5 };
  const answered = { job_id: "job_1", outputs: [output], __proto__: { polluted: 1 } };
  const job = line({ request: "GET /jobs/job_1", answer: answered });
  const polluting = job.replace('"job_id"', '"__proto__":{"polluted":1},"job_id"');
  await writeFile(join(folder, "recording.jsonl"), `${HEAD}${asset(sha256)}\n${polluting}\n`);
  await mkdir(join(folder, "media"));
  await symlink("/etc/hostname", join(folder, "media", sha256));
  const service = await startLocalService({ replay: { folder }, onDefect: () => {} });
  later(() => service.close());
  const answer = await fetch(`${service.baseUrl}/jobs/job_1`, { headers: { authorization: `Key ${service.apiKey}` } });
  const { outputs } = (await answer.json()) as { outputs: { url: string }[] };
  expect((await fetch(outputs[0]!.url)).status).toBeGreaterThanOrEqual(400);
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});
