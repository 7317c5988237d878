import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { beforeEach, expect, test } from "vitest";
import { downloadLimit } from "../../../src/core/api/options.ts";
import { safeFileName } from "../../../src/core/kit/file-name.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { clientSetup } from "../../support/client-setup.ts";
import { failure, hangUp, jobBody, json, outputItem, type Reply } from "../../support/fake-service.ts";
import { during } from "../../support/fake-showrunner.ts";
import { SimulatedClock } from "../../support/simulated-clock.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const setUp = clientSetup();
const bytes = Buffer.from(Array.from({ length: 50_000 }, (_, index) => (index * 31) % 251));
const sha256 = createHash("sha256").update(bytes).digest("hex");

let folder = "";
beforeEach(() => {
  folder = newFolder();
});

test("a download lands whole, hashed and without a trace of its making", async () => {
  const { client, service } = await setUp([
    (_request, response) => {
      response.writeHead(200, { "content-type": "image/png", "content-length": bytes.length }).end(bytes);
    },
  ]);
  const target = join(folder, "deep", "a.png");
  const result = await client.download(`${service.origin}/asset?signature=secret`, target);
  expect(result).toEqual({ path: target, sha256, sizeBytes: bytes.length, contentType: "image/png" });
  expect(await readFile(target)).toEqual(bytes);
  expect(await readdir(join(folder, "deep"))).toEqual(["a.png"]);
  expect(service.seen[0]!.headers.authorization).toBeUndefined();
});

test("how much a download may bring is set by kind, and what is not set has a limit all the same [G32]", async () => {
  const serve = (type: string) => (_request: unknown, response: ServerResponse) =>
    void response.writeHead(200, { "content-type": type }).end(bytes);
  const limits = { downloadLimits: { image: 10_000 } };
  const picture = await setUp([serve("image/png")], limits);
  const refused = picture.client.download(`${picture.service.origin}/a`, join(folder, "a"));
  await expect(refused).rejects.toMatchObject({ reason: "too-large" });
  const film = await setUp([serve("video/mp4")], limits);
  expect((await film.client.download(`${film.service.origin}/b`, join(folder, "b"))).sizeBytes).toBe(bytes.length);
  expect([null, "image/png", "audio/wav", "video/mp4", "text/plain"].map((type) => downloadLimit({}, type))).toEqual(
    [8, 0.5, 2, 8, 8].map((gib) => gib * 1024 ** 3),
  );
});

test.each([
  ["told ahead", true],
  ["never told", false],
])("a download larger than allowed is refused, %s, and leaves nothing behind", async (_name, isTold) => {
  const { client, service } = await setUp([
    (_request, response) => {
      response.writeHead(200, { ...(isTold && { "content-length": bytes.length }) }).end(bytes);
    },
  ]);
  const target = join(folder, "a.png");
  const refused = client.download(`${service.origin}/asset`, target, { maxBytes: 10_000 });
  await expect(refused).rejects.toMatchObject({ code: "DOWNLOAD_FAILED", reason: "too-large" });
  expect(await readdir(folder)).toEqual([]);
});

test("a download that breaks off resumes with Range where it stopped", async () => {
  let cutAt = 20_000;
  const { client, service } = await setUp([
    (request, response) => {
      const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
      response.writeHead(from > 0 ? 206 : 200, {
        "content-length": bytes.length - from,
        ...(from > 0 ? { "content-range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` } : {}),
      });
      if (cutAt >= bytes.length) return void response.end(bytes.subarray(from));
      response.write(bytes.subarray(from, cutAt), () => setImmediate(() => response.destroy()));
      cutAt += 20_000;
    },
  ]);
  const told: (readonly [received: number, total: number | null])[] = [];
  const onProgress = (received: number, total: number | null) => told.push([received, total]);
  const result = await client.download(`${service.origin}/asset`, join(folder, "a"), { onProgress });
  expect(result.sha256).toBe(sha256);
  expect(service.seen.length).toBeGreaterThan(1);
  expect(told.at(-1)).toEqual([bytes.length, bytes.length]);
  expect(told.map(([received]) => received)).toEqual(told.map(([received]) => received).toSorted((a, b) => a - b));
});

test("a server that ignores Range is read from the start again", async () => {
  let first = true;
  const { client, service } = await setUp([
    (_request, response) => {
      response.writeHead(200, { "content-length": bytes.length });
      if (!first) return void response.end(bytes);
      first = false;
      response.write(bytes.subarray(0, 10_000), () => setImmediate(() => response.destroy()));
    },
  ]);
  const result = await client.download(`${service.origin}/asset`, join(folder, "a"));
  expect(result).toMatchObject({ sha256, sizeBytes: bytes.length });
  expect((await readFile(result.path)).equals(bytes)).toBe(true);
});

for (const obeys of [true, false]) {
  test(`a file that changed meanwhile is never stitched together, by a server that ${obeys ? "knows" : "ignores"} If-Range`, async () => {
    const versions = [Buffer.alloc(50_000, "a"), Buffer.alloc(50_000, "b")];
    let version = 0;
    const { client, service } = await setUp([
      (request, response) => {
        const etag = `"v${version}"`;
        const data = versions[version]!;
        const condition = request.headers["if-range"];
        const isSame = !obeys || condition === undefined || condition === etag;
        const from = isSame ? Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0) : 0;
        response.writeHead(from > 0 ? 206 : 200, {
          etag,
          "content-length": data.length - from,
          ...(from > 0 && { "content-range": `bytes ${from}-${data.length - 1}/${data.length}` }),
        });
        if (version > 0) return void response.end(data.subarray(from));
        version = 1;
        response.write(data.subarray(0, 20_000), () => setImmediate(() => response.destroy()));
      },
    ]);
    await client.download(`${service.origin}/asset`, join(folder, "a"));
    expect((await readFile(join(folder, "a"))).equals(versions[1]!)).toBe(true);
    // Whatever arrived of the first version, nothing of it was kept; a resumed piece was asked for with its version.
    for (const { headers } of service.seen.slice(1))
      if (headers.range !== undefined) expect(headers["if-range"]).toBe('"v0"');
  });
}

test("a lapsed URL is replaced by a fresh one from the job", async () => {
  const service: { origin: string } = { origin: "" };
  const { client, service: made } = await setUp([
    failure(403, "PERMISSION_DENIED"),
    (request, response) => {
      expect(request.path).toBe("/v3/jobs/job_1");
      json(200, jobBody("COMPLETED", { outputs: [outputItem({ url: `${service.origin}/fresh` })] }))(request, response);
    },
    (request, response) => {
      expect(request.path).toBe("/fresh");
      response.end(bytes);
    },
  ]);
  service.origin = made.origin;
  const result = await client.download(
    { jobId: "job_1", outputIndex: 0, url: `${made.origin}/old` },
    join(folder, "a"),
  );
  expect(result.sha256).toBe(sha256);
});

test("a URL that is an hour old is read again from the job before it is used, also within a long download", async () => {
  const clock = new SimulatedClock();
  const at = { origin: "" };
  const fresh =
    (path: string): Reply =>
    (request, response) => {
      expect(request.path).toBe("/v3/jobs/job_1");
      json(200, jobBody("COMPLETED", { outputs: [outputItem({ url: `${at.origin}${path}` })] }))(request, response);
    };
  const half = bytes.length / 2;
  const { client, service } = await setUp(
    [
      fresh("/second"),
      (_request, response) => {
        response.writeHead(200, { etag: '"v"', "content-length": bytes.length });
        response.write(bytes.subarray(0, half), () => {
          clock.suspend(3_600_000);
          response.destroy();
        });
      },
      fresh("/third"),
      (_request, response) => {
        const range = `bytes ${half}-${bytes.length - 1}/${bytes.length}`;
        response
          .writeHead(206, { etag: '"v"', "content-range": range, "content-length": half })
          .end(bytes.subarray(half));
      },
    ],
    { clock },
  );
  at.origin = service.origin;
  const old = { url: `${service.origin}/first`, readAt: clock.now() - 3_600_000 };
  const source = { jobId: "job_1", outputIndex: 0, ...old };
  expect((await during(clock, client.download(source, join(folder, "a")))).sha256).toBe(sha256);
  expect(service.seen.map(({ path }) => path)).toEqual(["/v3/jobs/job_1", "/second", "/v3/jobs/job_1", "/third"]);
});

test("an output whose place has changed since is found by its asset, and never taken for the one in its place", async () => {
  const [one, two] = [1, 2].map((n) => outputItem({ asset_id: `asset_${n}`, url: `http://127.0.0.1:9/${n}` }));
  const at = { origin: "" };
  const { client, service } = await setUp([
    (request, response) => {
      const own = { ...two, url: `${at.origin}/two` };
      json(200, jobBody("COMPLETED", { outputs: [own] }))(request, response);
    },
    (request, response) => {
      expect(request.path).toBe("/two");
      response.end(bytes);
    },
    json(200, jobBody("COMPLETED", { outputs: [one!] })),
  ]);
  at.origin = service.origin;
  const source = { jobId: "job_1", outputIndex: 1, assetId: "asset_2" };
  expect((await client.download(source, join(folder, "a"))).sha256).toBe(sha256);
  await expect(client.download(source, join(folder, "b"))).rejects.toMatchObject({ reason: "no-url" });
});

test("a lapsed bare URL fails with a reason and leaves nothing", async () => {
  const { client, service } = await setUp([failure(410, "GONE")]);
  const error = await client
    .download(`${service.origin}/x?signature=secret`, join(folder, "a"))
    .catch((thrown) => thrown);
  expect(error).toMatchObject({ code: "DOWNLOAD_FAILED", reason: "expired", status: 410 });
  expect(error.message).not.toContain("secret");
  expect(await readdir(folder)).toEqual([]);
});

test("an expired output fails without asking for its bytes", async () => {
  const { client, service } = await setUp([
    json(200, jobBody("COMPLETED", { outputs: [outputItem({ status: "EXPIRED" })] })),
  ]);
  await expect(client.download({ jobId: "job_1", outputIndex: 0 }, join(folder, "a"))).rejects.toMatchObject({
    reason: "expired",
  });
  expect(service.seen).toHaveLength(1);
});

test("a download that never gets further ends bounded and leaves nothing", async () => {
  const { client, service } = await setUp([hangUp]);
  await expect(client.download(`${service.origin}/x`, join(folder, "a"))).rejects.toMatchObject({
    reason: "incomplete",
  });
  expect(await readdir(folder)).toEqual([]);
});

test("an upload streams the file as the part named file [WK5]", async () => {
  const path = join(folder, 'odd"name.png');
  await writeFile(path, "pixels");
  const { client, service } = await setUp([
    json(201, { url: "https://x.example/f?s=1", content_type: "image/png", expires_at: "2030-01-01T01:00:00Z" }),
  ]);
  const told: (readonly [sent: number, total: number])[] = [];
  const onProgress = (sent: number, total: number) => told.push([sent, total]);
  expect(await client.upload({ path }, { onProgress })).toEqual({
    url: "https://x.example/f?s=1",
    contentType: "image/png",
    expiresAt: "2030-01-01T01:00:00Z",
  });
  const { body, headers } = service.seen[0]!;
  expect(body).toContain('name="file"; filename="odd_name.png"');
  expect(body).toContain("\r\n\r\npixels\r\n--");
  expect(Number(headers["content-length"])).toBe(Buffer.byteLength(body));
  expect(told.at(-1)).toEqual([6, 6]);
});

test("an upload whose answer is lost is sent again whole", async () => {
  const { client, service } = await setUp([
    hangUp,
    json(201, { url: "https://x.example/f", expires_at: "2030-01-01T01:00:00Z" }),
  ]);
  await client.upload({ bytes: Buffer.from("pixels") });
  expect(service.seen[1]!.body).toContain("pixels");
});

test("what cannot be uploaded is refused before anything is sent", async () => {
  const { client, service } = await setUp([hangUp]);
  await expect(client.upload({ path: join(folder, "none") })).rejects.toMatchObject({
    code: "UPLOAD_REFUSED",
    reason: "missing",
  });
  await expect(client.upload({ path: folder })).rejects.toMatchObject({ reason: "not-a-file" });
  await expect(client.upload({ bytes: new Uint8Array() })).rejects.toMatchObject({ reason: "empty" });
  await expect(client.upload({ bytes: new Uint8Array(9) }, { maxBytes: 8 })).rejects.toMatchObject({
    reason: "too-large",
  });
  expect(service.seen).toHaveLength(0);
});

test("a handle is given again for the same bytes until shortly before it expires [M14]", async () => {
  const now = Date.now();
  const handle = (id: number, lifeMs: number) =>
    json(201, { url: `https://x.example/${id}`, expires_at: new Date(now + lifeMs).toISOString() });
  const { client, service } = await setUp([handle(1, 3_600_000), handle(2, 60_000), handle(3, 3_600_000)]);
  const path = join(folder, "same.txt");
  await writeFile(path, "same");
  const urls = [];
  urls.push((await client.upload({ path }, { reuse: true })).url);
  urls.push((await client.upload({ bytes: Buffer.from("same") }, { reuse: true })).url);
  urls.push((await client.upload({ bytes: Buffer.from("other") }, { reuse: true })).url);
  urls.push((await client.upload({ bytes: Buffer.from("other") }, { reuse: true })).url);
  expect(urls.map((url) => url.at(-1))).toEqual(["1", "1", "2", "3"]);
  expect(service.seen).toHaveLength(3);
});

test("a file of another kind than required is refused by its bytes, whatever its name", async () => {
  const { client, service } = await setUp([hangUp]);
  const path = join(folder, "song.png");
  await writeFile(path, Buffer.concat([Buffer.from("RIFF\x24\0\0\0WAVEfmt "), Buffer.alloc(40)]));
  await expect(client.upload({ path }, { kind: "image" })).rejects.toMatchObject({ reason: "wrong-kind" });
  expect(service.seen).toHaveLength(0);
});

test.each(["mp4", "quicktime", "webm"])("a %s may hold sound alone, and passes as sound", async (name) => {
  const { client, service } = await setUp([
    json(201, { url: "https://x.example/1", expires_at: "2030-01-01T00:00:00Z" }),
  ]);
  const heads = {
    mp4: Buffer.from("\0\0\0\x18ftypisom\0\0\0\0isommp42"),
    quicktime: Buffer.from("\0\0\0\x14ftypqt  \0\0\0\0qt  "),
    webm: Buffer.from("1a45dfa3874282847765626d", "hex"),
  };
  const bytes = Buffer.concat([heads[name as keyof typeof heads], Buffer.alloc(64)]);
  await expect(client.upload({ bytes }, { kind: "image" })).rejects.toMatchObject({ reason: "wrong-kind" });
  await client.upload({ bytes }, { kind: "audio" });
  expect(service.seen).toHaveLength(1);
});

test("names are safe on every system and stay in their folder", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 300 }), (wanted) => {
      const name = safeFileName(wanted);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
      expect(name).not.toMatch(/[/\\:*?"<>|\0-\x1f]|^\.|[. ]$|^$/);
      expect(Buffer.byteLength(name)).toBeLessThanOrEqual(121);
      expect(dirname(join("/target", name))).toBe("/target");
      expect(safeFileName(name)).toBe(name);
    }),
  );
  expect(["../../etc/passwd", "CON", "lpt1.txt", "...", "a.png. "].map(safeFileName)).toEqual([
    "___.._etc_passwd",
    "_CON",
    "_lpt1.txt",
    "___",
    "a.png",
  ]);
});
