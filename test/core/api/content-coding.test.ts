/** Files that a server codes although it is asked not to: what is kept are the bytes of the file. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { beforeEach, describe, expect, test } from "vitest";
import { fetchForInput } from "../../../src/core/network/index.ts";
import { clientSetup } from "../../support/client-setup.ts";
import { fakeService } from "../../support/fake-service.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const setUp = clientSetup();
const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * index * 31) % 251));

const coded: Readonly<Record<string, readonly [header: string, body: Buffer]>> = {
  gzip: ["gzip", gzipSync(bytes)],
  "x-gzip, in capitals": ["X-GZIP", gzipSync(bytes)],
  "gzip in two members": ["gzip", Buffer.concat([gzipSync(bytes.subarray(0, 500)), gzipSync(bytes.subarray(500))])],
  br: ["br", brotliCompressSync(bytes)],
  deflate: ["deflate", deflateSync(bytes)],
  "deflate without its header": ["deflate", deflateRawSync(bytes)],
  zstd: ["zstd", zstdCompressSync(bytes)],
  "one coding over another": ["gzip, br", brotliCompressSync(gzipSync(bytes))],
  "a coding that was undone on the way": ["gzip", bytes],
  "zstd that was undone on the way": ["zstd", bytes],
  "what object stores keep": ["aws-chunked", bytes],
  "what is no coding": ["utf-8", bytes],
};

let folder = "";
let target = "";
beforeEach(() => {
  folder = newFolder();
  target = join(folder, "a.png");
});

describe.each(Object.entries(coded))("%s", (_name, [header, body]) => {
  test.each(["with its length", "in chunks"])("is undone for an output that comes %s [G12]", async (way) => {
    const { client, service } = await setUp([
      (_request, response) => {
        const length = way === "with its length" ? { "content-length": body.length } : {};
        response.writeHead(200, { "content-type": "image/png", "content-encoding": header, ...length }).end(body);
      },
    ]);
    const { sizeBytes } = await client.download(`${service.origin}/a`, target);
    expect([sizeBytes, (await readFile(target)).equals(bytes)]).toEqual([bytes.length, true]);
    expect(service.seen[0]!.headers["accept-encoding"]).toBe("identity");
  });

  test("is undone for what an input or a provider names", async () => {
    const server = await fakeService((_request, response) => {
      response.writeHead(200, { "content-encoding": header }).end(body);
    });
    const fetched = await fetchForInput(`${server.origin}/a`, {
      inside: [server.origin],
      signal: new AbortController().signal,
    });
    expect((await buffer(fetched.body)).equals(bytes)).toBe(true);
    expect(server.seen[0]!.headers["accept-encoding"]).toBe("identity");
    await server.close();
  });
});

test.each(["gzip", "br", "deflate", "zstd"] as const)(
  "a download in %s that breaks off begins again, without a range",
  async (name) => {
    const [header, body] = coded[name]!;
    const half = body.subarray(0, Math.floor(body.length / 2));
    const head = { "content-type": "image/png", "content-encoding": header, etag: '"v1"' };
    const { client, service } = await setUp([
      (_request, response) => {
        response.writeHead(200, { ...head, "content-length": body.length }).write(half, () => response.destroy());
      },
      // Ended cleanly: only the coding shows that something lacks.
      (_request, response) => void response.writeHead(200, head).end(half),
      (_request, response) => void response.writeHead(200, head).end(body),
    ]);
    await client.download(`${service.origin}/a`, target);
    expect((await readFile(target)).equals(bytes)).toBe(true);
    expect(service.seen.map(({ headers }) => headers.range)).toEqual([undefined, undefined, undefined]);
  },
);

test("a range of plain bytes that comes coded is no part of them: the download begins again", async () => {
  const { client, service } = await setUp([
    (_request, response) => {
      response
        .writeHead(200, { "content-length": bytes.length })
        .write(bytes.subarray(0, 70_000), () => response.destroy());
    },
    (_request, response) => {
      const rest = gzipSync(bytes.subarray(70_000));
      const range = `bytes 70000-${bytes.length - 1}/${bytes.length}`;
      response.writeHead(206, { "content-encoding": "gzip", "content-range": range }).end(rest);
    },
    (_request, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(bytes)),
  ]);
  await client.download(`${service.origin}/a`, target);
  expect((await readFile(target)).equals(bytes)).toBe(true);
  expect(service.seen.at(-1)!.headers.range).toBeUndefined();
});

test.each(["gzip", "br", "zstd"])(
  "a small body in %s that holds more than is fetched at most is refused",
  async (header) => {
    const zeros = Buffer.alloc(3_000_000);
    const body = { gzip: gzipSync, br: brotliCompressSync, zstd: zstdCompressSync }[header]!(zeros);
    const { client, service } = await setUp([
      (_request, response) => void response.writeHead(200, { "content-encoding": header }).end(body),
    ]);
    const refused = client.download(`${service.origin}/a`, target, { maxBytes: 100_000 });
    await expect(refused).rejects.toMatchObject({ reason: "too-large" });
    expect(await readdir(folder)).toEqual([]);
  },
);

test("a coded body that nobody wants to read is let go", async () => {
  const closed = Promise.withResolvers<void>();
  const { origin, close } = await fakeService((_request, response) => {
    response.on("close", closed.resolve);
    response.writeHead(404, { "content-encoding": "gzip" }).write(coded.gzip![1].subarray(0, 100));
  });
  const { body } = await fetchForInput(`${origin}/a`, { inside: [origin], signal: new AbortController().signal });
  body.on("error", () => {}).destroy();
  await closed.promise;
  await close();
});
