import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { CreateBucketCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { parseBucketUrl } from "../../../../src/core/engine/media/bucket/bucket.ts";
import { BucketStore, MediaCache } from "../../../../src/core/engine/media/bucket/bucket-store.ts";
import { connectS3, S3Bucket } from "../../../../src/core/engine/media/bucket/s3-bucket.ts";
import { checkMedia, openMedia } from "../../../../src/core/engine/media/open-media.ts";
import { createMemoryJournal, openShowrunner } from "../../../../src/index.ts";
import { type LocalService, startLocalService } from "../../../../src/local-service/index.ts";
import { startDashboard } from "../../../../src/studio/dashboard/index.ts";
import { describeNeeding } from "../../../support/absence.ts";
import { newFolder, pipelineOf, plainWav } from "../../../support/engine.ts";
import { type HttpProxy, startProxy } from "../../../support/proxy.ts";
import { lacksS3Server, S3_START_MS, type S3Server, startS3Server } from "../../../support/s3-server.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: S3_START_MS + 60_000 });

const one = pipelineOf("one", ({ job }) => ({ one: job("one", "image-1", { prompt: "x", aspect_ratio: "1:1" }) }));
/** What a process that came to the end has printed. */
interface Ended {
  readonly status: string;
  readonly outputs: { readonly hash: readonly string[]; readonly picture: { readonly path: string } };
}
const PROCESS = resolve(import.meta.dirname, "../fixtures/bucket-run.ts");
const sha256Of = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

describeNeeding(lacksS3Server())("A run whose media are in a bucket of a real S3 server", () => {
  let server: S3Server;
  let proxy: HttpProxy;
  let service: LocalService;
  const folder = newFolder();
  /** Larger than one request carries. */
  const sample = Buffer.from(plainWav(700_000));

  beforeAll(async () => {
    writeFileSync(join(folder, "sample.wav"), sample);
    server = await startS3Server();
    process.env.AWS_ACCESS_KEY_ID = server.accessKeyId;
    process.env.AWS_SECRET_ACCESS_KEY = server.secretAccessKey;
    proxy = await startProxy(server.endpoint, { speaks: "s3" });
    const { client } = await connectS3(parseBucketUrl(`s3://films?endpoint=${server.endpoint}`));
    await client.send(new CreateBucketCommand({ Bucket: "films" }));
    service = await startLocalService({ renderer: "stub", balance: 5 });
  });
  afterAll(async () => {
    await service?.close();
    await proxy?.close();
    await server?.[Symbol.asyncDispose]();
  });

  const url = (prefix: string, more = "") => `s3://films/${prefix}?endpoint=${proxy.endpoint}${more}`;

  /** A Showrunner of this process on its part of the bucket. */
  async function opened(prefix: string, more = "") {
    const { baseUrl, apiKey } = service;
    const journal = createMemoryJournal();
    const at = { media: url(prefix, more), mediaDir: newFolder() };
    const show = await openShowrunner({ baseUrl, apiKey, journal, notify: false, ...at });
    const run = async (id: string) =>
      (await show.run(one, {}, { id, budget: "1", outDir: join(at.mediaDir, "out") })).result();
    return { show, journal, at, run };
  }

  /** A process on a machine of its own, killed at its first request that matches; what it printed, or null. */
  async function lived(name: string, machine: string, kill: RegExp | null) {
    const env = { ...process.env, BASE_URL: service.baseUrl, API_KEY: service.apiKey };
    const dir = join(folder, name);
    const child = spawn(process.execPath, [PROCESS, dir, machine, url(name)], {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let isKilled = false;
    proxy.fault = (request) => {
      if (kill === null || !kill.test(request)) return null;
      isKilled = child.kill("SIGKILL") || isKilled;
      return { type: "cut-body" };
    };
    const [said, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    proxy.fault = () => null;
    expect(isKilled || said !== "", errors).toBe(true);
    if (kill === null) return JSON.parse(said) as Ended;
    expect(isKilled, errors).toBe(true);
    return null;
  }

  const lives = [
    ["part", [/partNumber=2/]],
    ["end", [/^POST .*uploadId=/]],
    ["output-and-fetch", [/^PUT [^?]*media\/\w\w\/(?!WAV)[^?]*\?(?!.*partNumber)/, /^GET [^?]*media\//]],
  ] as const;
  test.each(lives)(
    "killed on one machine after another (%s), pays once, loses nothing, and shows nothing half [G15]",
    async (name, kills) => {
      const dir = join(folder, name);
      await mkdir(dir);
      await copyFile(join(folder, "sample.wav"), join(dir, "sample.wav"));
      const jobsBefore = service.stats().jobs_created;
      for (const [at, kill] of kills.entries()) expect(await lived(name, `machine-${at}`, kill)).toBeNull();
      const ended = (await lived(name, "last", null))!;
      expect([ended.status, service.stats().jobs_created - jobsBefore]).toEqual(["succeeded", 1]);
      const [ofSample, ofPicture] = ended.outputs.hash;
      expect(ofSample).toBe(sha256Of(sample));
      expect(sha256Of(readFileSync(ended.outputs.picture.path))).toBe(ofPicture);
      const at = parseBucketUrl(url(name));
      const bucket = new S3Bucket(at, await connectS3(at));
      const store = new BucketStore(bucket, await MediaCache.open(join(dir, "judge"), 1e9));
      for await (const { sha256 } of store.garbage.list())
        expect([sha256, await store.verify(sha256)]).toEqual([sha256, "intact"]);
      expect(await store.sizeOf(ofSample!)).toBe(sample.length);
      const left = await bucket.abortUploads({ olderThanMs: -60_000, dryRun: false });
      expect(left).toBe(name === "output-and-fetch" ? 0 : 1);
    },
  );

  test("does not begin, and pays nothing, where the bucket cannot be written to", async () => {
    const { show, run } = await opened("denied");
    const before = service.stats().jobs_created;
    proxy.fault = (request) =>
      request.startsWith("PUT") ? { type: "refuse", status: 403, code: "AccessDenied" } : null;
    await expect(run("x")).rejects.toMatchObject({ code: "MEDIA_BUCKET", reason: "denied" });
    proxy.fault = () => null;
    expect(service.stats().jobs_created).toBe(before);
    await show.close();
  });

  test("waits for a bucket that answers 503 for a while and then breaks connections, and pays once [G15]", async () => {
    const { show, journal, at, run } = await opened("outage");
    const before = service.stats().jobs_created;
    let isAway = false;
    let isNoted = false;
    let cuts = 0;
    // Longer than one request is tried, however fast this machine is.
    const watch = setInterval(async () => {
      const events = await journal.read("outage").catch(() => []);
      isNoted ||= events.some(({ event }) => event.type === "service.unavailable");
    }, 50);
    proxy.fault = (request) => {
      isAway ||= /^PUT [^?]*media\//.test(request);
      if (!isAway || cuts === 3) return null;
      if (!isNoted) return { type: "refuse", status: 503, code: "SlowDown" };
      cuts++;
      return { type: "cut" };
    };
    const { status, outputs } = await run("outage");
    clearInterval(watch);
    proxy.fault = () => null;
    expect([status, service.stats().jobs_created - before, cuts]).toEqual(["succeeded", 1, 3]);
    const types = (await journal.read("outage")).map(({ event }) => event.type);
    expect(types.filter((type) => type.startsWith("service."))).toEqual(["service.unavailable", "service.recovered"]);
    expect(types).not.toContain("run.paused");
    const store = await openMedia(at);
    expect(await store.verify(sha256Of(readFileSync(outputs.one!.path!)))).toBe("intact");
    await show.close();
  });

  test("is tried by doctor's check, which knows the bucket's clock", async () => {
    const found = await checkMedia({ media: url("checked"), mediaDir: folder });
    expect(found.location).toBe("s3://films/checked");
    expect(Math.abs(found.clockOffsetMs!)).toBeLessThan(60_000);
    const nowhere = checkMedia({ media: "s3://nowhere?endpoint=http://127.0.0.1:1", mediaDir: folder });
    await expect(nowhere).rejects.toMatchObject({ code: "MEDIA_BUCKET", reason: "unreachable" });
  });

  test.each([
    ["sends a browser to the bucket, which the page's policy allows", "", 302],
    ["passes media on, parts of them too, without links", "&links=off", 206],
  ] as const)("has a dashboard that %s", async (_what, more, status) => {
    const { show, journal, at, run } = await opened("shown", more);
    const { report, outputs } = await run("x");
    const bytes = readFileSync(outputs.one!.path!);
    const token = "a token of sufficient length";
    const dashboard = await startDashboard({ show, journal, media: await openMedia(at), token });
    try {
      const cookie = (await fetch(dashboard.url, { redirect: "manual" })).headers.get("set-cookie")!.split(";")[0]!;
      const headers = { Cookie: cookie, Range: "bytes=0-3" };
      const answer = await fetch(`${dashboard.origin}/media/x/one/0`, { headers, redirect: "manual" });
      expect(answer.status).toBe(status);
      const link = answer.headers.get("location");
      const policy = answer.headers.get("content-security-policy")!;
      const shown = link === null ? answer : await fetch(link, { headers: { Range: "bytes=0-3" } });
      expect(Buffer.from(await shown.arrayBuffer()).equals(bytes.subarray(0, 4))).toBe(true);
      expect(shown.headers.get("content-type")).toBe("image/png");
      const page = await fetch(`${dashboard.origin}/`, { headers: { Cookie: cookie } });
      if (link === null) expect(policy).toContain("default-src 'none'");
      else expect(page.headers.get("content-security-policy")).toContain(`img-src 'self' ${new URL(link).origin}`);
      expect(JSON.stringify(await journal.read("x"))).not.toMatch(/X-Amz|127\.0\.0\.1:\d+\/films/);
      expect(report.status).toBe("succeeded");
    } finally {
      await dashboard.close();
      await show.close();
    }
  });
});
