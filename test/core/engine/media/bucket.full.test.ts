import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { CreateBucketCommand } from "@aws-sdk/client-s3";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { parseBucketUrl } from "../../../../src/core/engine/media/bucket/bucket.ts";
import { BucketStore, MediaCache } from "../../../../src/core/engine/media/bucket/bucket-store.ts";
import { connectS3, S3Bucket, type Timeouts } from "../../../../src/core/engine/media/bucket/s3-bucket.ts";
import { describeNeeding } from "../../../support/absence.ts";
import { type Fault, type HttpProxy, startProxy } from "../../../support/proxy.ts";
import { lacksS3Server, S3_START_MS, type S3Server, startS3Server } from "../../../support/s3-server.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: S3_START_MS + 60_000 });

const MB = 2 ** 20;
const PART = 5 * MB;
const BUCKET = "films";
const sha256Of = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

describeNeeding(lacksS3Server())("Media in a bucket of a real S3 server", () => {
  let server: S3Server;
  let proxy: HttpProxy;
  let folder: string;
  let worlds = 0;
  let prefix: string;

  beforeAll(async () => {
    server = await startS3Server();
    process.env.AWS_ACCESS_KEY_ID = server.accessKeyId;
    process.env.AWS_SECRET_ACCESS_KEY = server.secretAccessKey;
    proxy = await startProxy(server.endpoint, { speaks: "s3" });
    const { client } = await connectS3(parseBucketUrl(`s3://${BUCKET}?endpoint=${server.endpoint}`));
    await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
  });
  afterAll(async () => {
    await proxy?.close();
    await server?.[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "bucket-"));
    prefix = `world-${++worlds}`;
    proxy.fault = () => null;
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function opened(machine = "a", timeouts: Partial<Timeouts> = {}, through = proxy.endpoint) {
    const at = parseBucketUrl(`s3://${BUCKET}/${prefix}?endpoint=${through}&cache=20MB`);
    const s3 = await connectS3(at, { attempts: 3, ...timeouts });
    const bucket = new S3Bucket(at, s3, { partBytes: PART });
    const store = new BucketStore(bucket, await MediaCache.open(join(folder, machine), at.cacheBytes));
    return { store, bucket, s3 };
  }

  async function keys(prefixed = ""): Promise<readonly string[]> {
    const { bucket } = await opened("keys", {}, server.endpoint);
    const found: string[] = [];
    for await (const { key } of bucket.list(prefixed)) found.push(key);
    return found.toSorted();
  }

  test("what one machine puts another holds, in one request or in parts", async () => {
    const [one, other] = [(await opened("a")).store, (await opened("b")).store];
    for (const bytes of [Buffer.from(""), Buffer.from("a picture"), randomBytes(2 * PART + 7)]) {
      const sha256 = sha256Of(bytes);
      expect(await other.has(sha256)).toBe(false);
      expect(await one.put({ bytes })).toEqual({ sha256, sizeBytes: bytes.length });
      expect([await other.has(sha256), await other.sizeOf(sha256)]).toEqual([true, bytes.length]);
      await using held = await other.hold([sha256]);
      expect(readFileSync(held.path(sha256)).equals(bytes)).toBe(true);
      expect(await other.verify(sha256)).toBe("intact");
      const [file] = await other.place([{ sha256, name: "scene.bin" }], join(folder, "out"), "tag");
      expect(readFileSync(join(folder, "out", file!)).equals(bytes)).toBe(true);
    }
    expect(await keys()).toHaveLength(3);
    for (const machine of ["a", "b"]) expect(readdirSync(join(folder, machine, "tmp"))).toEqual([]);
  });

  test("streams, files and downloads come in; the same bytes are sent once", async () => {
    const { store } = await opened();
    const bytes = randomBytes(1000);
    const sha256 = sha256Of(bytes);
    const path = join(folder, "picture");
    writeFileSync(path, bytes);
    const tmp = store.tmpPath();
    writeFileSync(tmp, bytes);
    async function* stream() {
      yield bytes;
    }
    await Promise.all([store.put({ path, sha256 }), store.put({ bytes }), store.put({ path, sha256 })]);
    const before = proxy.requests.length;
    await store.put({ stream: stream() });
    await store.adopt(tmp);
    await store.put({ path: "/gone", sha256 });
    expect(proxy.requests.slice(before).filter((one) => one.startsWith("PUT"))).toEqual([]);
    await expect(store.put({ path: "/gone" })).rejects.toMatchObject({ code: "ENOENT" });
    expect(await keys()).toEqual([`media/${sha256.slice(0, 2)}/${sha256}`]);
  });

  test("parts of a film are read by range, and links show it to a browser for a while", async () => {
    const { store } = await opened();
    const bytes = randomBytes(10_000);
    const { sha256 } = await store.put({ bytes });
    const part = await buffer(await store.read(sha256, { start: 100, end: 199 }));
    expect(part.equals(bytes.subarray(100, 200))).toBe(true);
    const link = (await store.link(sha256, { contentType: "video/mp4", disposition: "inline" }))!;
    expect(new URL(link).origin).toBe(await store.linkOrigin());
    const answer = await fetch(link, { headers: { Range: "bytes=0-9" } });
    const said = ["content-type", "content-disposition"].map((name) => answer.headers.get(name));
    expect([answer.status, ...said]).toEqual([206, "video/mp4", "inline"]);
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes.subarray(0, 10))).toBe(true);
    const other = new URL(link);
    other.searchParams.set("X-Amz-Expires", "604800");
    expect((await fetch(other)).status).toBe(403);
  });

  test("an object that somebody changed is found and mended, one that was deleted is sent again from a copy", async () => {
    const [{ store, bucket }, { store: other }] = [await opened("a"), await opened("b")];
    const bytes = randomBytes(2000);
    const { sha256 } = await store.put({ bytes });
    const [key] = await keys();
    const wrong = join(folder, "wrong");
    writeFileSync(wrong, randomBytes(2000));
    await bucket.put(key!, { path: wrong, sha256: sha256Of(readFileSync(wrong)), sizeBytes: 2000 });
    expect(await other.verify(sha256)).toBe("damaged");
    await expect(other.hold([sha256])).rejects.toMatchObject({ code: "MEDIA_BUCKET", reason: "damaged" });
    await other.put({ bytes });
    expect(await other.verify(sha256)).toBe("intact");
    await bucket.delete(key!);
    expect(await store.verify(sha256)).toBe("intact");
    expect(await keys()).toEqual([key]);
    const never = sha256Of(Buffer.from("never"));
    expect(await store.verify(never)).toBe("missing");
    await expect(store.hold([never])).rejects.toMatchObject({ code: "MEDIA_MISSING" });
    await expect(store.read(never)).rejects.toMatchObject({ code: "MEDIA_MISSING" });
  });

  describe("with trouble on the way", () => {
    /** The first requests that match have the fault. */
    function faults(pattern: RegExp, fault: Fault, times = 1) {
      let left = times;
      proxy.fault = (request) => (pattern.test(request) && left-- > 0 ? fault : null);
    }
    const passing: readonly Fault[] = [
      { type: "refuse", status: 503, code: "SlowDown" },
      { type: "refuse", status: 500, code: "InternalError" },
      { type: "cut" },
      { type: "cut-body" },
      { type: "lose-answer" },
      { type: "stall" },
    ];
    const spots = [
      ["a small file", /^PUT .*media\//, 1000],
      ["the beginning of a large one", /^POST .*\?uploads/, PART + 1],
      ["a part", /^PUT .*partNumber=2/, PART + 1],
      ["the end", /^POST .*uploadId=/, PART + 1],
    ] as const;

    const cases = spots.flatMap(([what, pattern, size]) =>
      passing.map(
        (fault) => [fault.type, "status" in fault ? fault.code : "", what, { pattern, size, fault }] as const,
      ),
    );
    test.each(cases)(
      "%s %s once while %s goes up: it is there, whole, and no part is left [G15]",
      async (_type, _code, _what, { pattern, size, fault }) => {
        faults(pattern, fault);
        const { store, bucket } = await opened("a", fault.type === "stall" ? { answerMs: 2000 } : {});
        const bytes = randomBytes(size);
        const { sha256 } = await store.put({ bytes });
        expect(proxy.requests.some((request) => pattern.test(request))).toBe(true);
        const { store: other } = await opened("b");
        expect(await other.verify(sha256)).toBe("intact");
        // An upload whose answer was lost was begun twice.
        const left = await bucket.abortUploads({ olderThanMs: -60_000, dryRun: false });
        const isBegunTwice = ["lose-answer", "cut-body"].includes(fault.type) && pattern.source.includes("uploads");
        expect(left).toBe(isBegunTwice ? 1 : 0);
      },
    );

    test.each([
      { type: "refuse", status: 503, code: "SlowDown" },
      { type: "cut" },
      { type: "cut-answer" },
      { type: "corrupt" },
      { type: "stall" },
    ] as const)("$type once while it is read: what is held is whole", async (fault) => {
      const bytes = randomBytes(3 * MB);
      const { sha256 } = await (await opened()).store.put({ bytes });
      faults(/^GET .*media\//, fault);
      const { store: other } = await opened("b", fault.type === "stall" ? { answerMs: 2000 } : {});
      await using held = await other.hold([sha256]);
      expect(readFileSync(held.path(sha256)).equals(bytes)).toBe(true);
    });

    test("a transfer that breaks goes on from where it was", async () => {
      const { store } = await opened();
      const { sha256 } = await store.put({ bytes: randomBytes(3 * MB) });
      faults(/^GET .*media\//, { type: "cut-answer" }, 3);
      const { store: other } = await opened("b");
      const before = proxy.requests.length;
      await using held = await other.hold([sha256]);
      expect(sha256Of(readFileSync(held.path(sha256)))).toBe(sha256);
      expect(proxy.requests.slice(before).filter((one) => /^GET .*media\//.test(one)).length).toBeGreaterThan(1);
    });

    test.each([
      [{ type: "refuse", status: 503, code: "SlowDown" }, "busy"],
      [{ type: "refuse", status: 400, code: "ExpiredToken" }, "credentials"],
      [{ type: "refuse", status: 403, code: "InvalidAccessKeyId" }, "credentials"],
      [{ type: "refuse", status: 403, code: "AccessDenied" }, "denied"],
      [{ type: "refuse", status: 404, code: "NoSuchBucket" }, "missing"],
      [{ type: "refuse", status: 301, code: "PermanentRedirect" }, "region"],
      [{ type: "cut" }, "unreachable"],
      [{ type: "stall" }, "unreachable"],
    ] as const)("%o for good is named %s; nothing half is seen and no part is left", async (fault, reason) => {
      const { store, bucket } = await opened("a", { attempts: 2, ...(fault.type === "stall" && { answerMs: 2000 }) });
      faults(/^PUT .*partNumber=2/, fault, Number.POSITIVE_INFINITY);
      const bytes = randomBytes(2 * PART);
      await expect(store.put({ bytes })).rejects.toMatchObject({ code: "MEDIA_BUCKET", reason });
      expect(await store.has(sha256Of(bytes))).toBe(false);
      expect(await keys()).toEqual([]);
      expect(await bucket.abortUploads({ olderThanMs: -60_000, dryRun: true })).toBe(0);
      proxy.fault = () => null;
      expect(await store.put({ bytes })).toMatchObject({ sizeBytes: bytes.length });
    });

    test("a bucket that takes requests and never answers is given up after two, of those that write as of those that read", async () => {
      const { store } = await opened("a", { attempts: 6, readMs: 300, answerMs: 300 });
      proxy.fault = () => ({ type: "stall" });
      const before = proxy.requests.length;
      const given = { code: "MEDIA_BUCKET", reason: "unreachable" };
      await expect(store.has(sha256Of(Buffer.from("a")))).rejects.toMatchObject(given);
      expect(proxy.requests.slice(before)).toHaveLength(2);
      proxy.fault = (request) => (/^PUT/.test(request) ? { type: "stall" } : null);
      await expect(store.put({ bytes: Buffer.from("a") })).rejects.toMatchObject(given);
      expect(proxy.requests.slice(before).filter((request) => /^PUT/.test(request))).toHaveLength(2);
    });

    test("a wrong tag is not believed: what is there is read, and it is right", async () => {
      const { store } = await opened();
      const small = randomBytes(1000);
      faults(/^PUT /, { type: "wrong-tag" });
      const { sha256 } = await store.put({ bytes: small });
      expect(proxy.requests.at(-1)).toMatch(/^GET/);
      expect(await store.verify(sha256)).toBe("intact");
      faults(/^PUT .*partNumber=1/, { type: "wrong-tag" });
      const refused = store.put({ bytes: randomBytes(PART + 1) });
      await expect(refused).rejects.toMatchObject({ code: "MEDIA_BUCKET", reason: "refused" });
      expect(await keys()).toHaveLength(1);
    });

    test("an upload that nobody aborted is found once it is a day old, and counted before", async () => {
      const { store, bucket } = await opened();
      proxy.fault = (request) => (/partNumber|^DELETE/.test(request) ? { type: "cut" } : null);
      await expect(store.put({ bytes: randomBytes(PART + 1) })).rejects.toMatchObject({ reason: "unreachable" });
      proxy.fault = () => null;
      expect(await store.garbage.removeLeftovers({ dryRun: false })).toBe(0);
      for (const [dryRun, count] of [
        [true, 1],
        [false, 1],
        [true, 0],
      ] as const)
        expect(await bucket.abortUploads({ olderThanMs: -60_000, dryRun })).toBe(count);
    });
  });
});
