/** A download that answers 200 with something else than the output, or with a part of it: only the output itself is kept. */

import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, createClient } from "../../../src/core/api/index.ts";
import { damageOf } from "../../../src/core/engine/media/media-reader.ts";
import { MockProvider, models, openFakeShow, PIXEL, pipelineOf, plainWav, TINY_MP4 } from "../../support/engine.ts";
import { type FakeService, fakeService } from "../../support/fake-service.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const XML = '<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Reduce your request rate</Message></Error>';
/** What came in place of files, with what a message calls it. */
const documents: Readonly<Record<string, readonly [body: string | Buffer, words: RegExp]>> = {
  "an XML error": [XML, /it is XML/],
  "an XML error without its declaration": [XML.replace(/^<\?.*?\?>/, "\n"), /it is XML/],
  "a JSON error": ['{"error":{"code":503,"message":"upstream"}}', /it is JSON/],
  "an HTML page": ["<!DOCTYPE html><html><body>Sign in</body></html>", /it is an HTML page/],
  "a sentence": ["upstream connect error or disconnect/reset before headers", /it is plain text/],
  "a sentence in letters that are cut": [Buffer.from("Überlastet, später – ü").subarray(0, -1), /it is plain text/],
  nothing: ["", /it is empty/],
  "the first bytes of a file": [PIXEL.subarray(0, 3), /its format is not recognized/],
  "random bytes": [Buffer.from(Array.from({ length: 900 }, (_, at) => (at * at * 31 + 7) & 127)), /not recognized/],
  "an archive": [Buffer.from("504b0304140000000000", "hex"), /it is application\/zip/],
  "a document": ["%PDF-1.7\n1 0 obj\n", /it is application\/pdf/],
};
const hex = (text: string) => Buffer.from(text, "hex");
/** More that a URL may answer with in place of a picture; each is refused, whatever it is called. */
const others: Readonly<Record<string, string | Buffer>> = {
  "a JSON list": '[{"error":"gone"}]',
  "a JSON string": '"not found"',
  "a JSON number": "404",
  "a JSON null": "null",
  "JSON behind a byte order mark": '\ufeff{"error":1}',
  "JSON behind spaces": '  \n\t{"error":1}',
  "JSON lines": '{"a":1}\n{"a":2}\n',
  "JSON that was cut": '{"error":{"code":503,"mess',
  "an HTML page behind a comment": "<!-- gateway --><html><body>502</body></html>",
  "an HTML page in capitals": "<HTML><HEAD><TITLE>502 Bad Gateway</TITLE></HEAD></HTML>",
  "an HTML page behind a byte order mark": "\ufeff<!doctype html><p>Sign in</p>",
  "a part of a page": "<div>try again later</div>",
  "an HTML page in UTF-16": Buffer.from("\ufeff<html><body>Sign in</body></html>", "utf16le"),
  "XML in UTF-16": Buffer.from(`\ufeff${XML}`, "utf16le"),
  "a SOAP fault": '<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Fault/></soap:Envelope>',
  "a feed": '<rss version="2.0"><channel/></rss>',
  "a playlist": "#EXTM3U\n#EXT-X-VERSION:3\n",
  "a YAML document": "error: upstream\ncode: 503\n",
  "a table": "code,message\n503,upstream\n",
  "events of a stream": 'event: error\ndata: {"code":503}\n\n',
  "a redirect in words": "Moved Permanently. Redirecting to https://login.test/",
  "a base64 picture": PIXEL.toString("base64"),
  "a data URL": `data:image/png;base64,${PIXEL.toString("base64")}`,
  "a pointer of Git LFS": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
  spaces: " \n\t ",
  zeros: Buffer.alloc(600),
  "a gzip archive": hex("1f8b0800000000000003cb48cdc9c90700"),
  "a program": hex("7f454c4602010100000000000000000002003e0001000000"),
  "a font": hex("774f4646000100000000000000000000"),
  "a database": Buffer.from("SQLite format 3\0".padEnd(100, "\0")),
};

const folder = newFolder();

function damage(bytes: Uint8Array | string, contentType: string | null): Promise<string | null> {
  const path = join(folder, "output");
  writeFileSync(path, bytes);
  return damageOf(path, { contentType, width: null, height: null, durationMs: null });
}

describe.each(Object.entries(documents))("In place of a file, %s", (_name, [body, words]) => {
  test.each(["image/png", "image/jpeg", "video/mp4", "audio/wav", "audio/mpeg", "Audio/MPEG; x=1"])(
    "is damage where %s is stated",
    async (type) => {
      expect(await damage(body, type)).toMatch(words);
    },
  );
});

test("nor is anything else kept as a picture, as a film or as sound", async () => {
  expect(Object.keys(documents).length + Object.keys(others).length).toBeGreaterThanOrEqual(40);
  const kept: string[] = [];
  for (const type of ["image/png", "video/mp4", "audio/mpeg"])
    for (const [name, bytes] of Object.entries(others)) {
      if ((await damage(bytes, type)) === null) kept.push(`${name} as ${type}`);
    }
  expect(kept).toEqual([]);
});

test("what may be no more than it says is no damage: drawings, texts, samples without a header, formats that nobody knows", async () => {
  const samples = Buffer.from(Array.from({ length: 900 }, (_, at) => (at * 37) & 255));
  const fine: readonly (readonly [Buffer | string, string | null])[] = [
    ['<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', "image/svg+xml"],
    ["<svg/>", "image/svg+xml"],
    ['{"words":[]}', "application/json"],
    ["1\n00:00:01,000 --> 00:00:02,000\nHello\n", "application/x-subrip"],
    [samples, "audio/pcm"],
    [samples, "model/gltf-binary"],
    [samples, null],
    [PIXEL, null],
    [TINY_MP4, "video/quicktime"],
    [Buffer.from(plainWav(200)), "audio/x-wav"],
  ];
  for (const [bytes, type] of fine) expect(await damage(bytes, type), type ?? "unstated").toBeNull();
  expect(await damage(XML, "audio/pcm")).toMatch(/XML/);
  expect(await damage("<html>", "application/json")).toMatch(/HTML/);
  expect(await damage(Buffer.from(plainWav(200)), "video/mp4")).toBe("it is audio/wav, not video/mp4");
});

let send: (answer: ServerResponse) => void;
let server: FakeService;
let client: Client;
beforeAll(async () => {
  server = await fakeService((_request, answer) => send(answer));
  client = createClient({ baseUrl: server.baseUrl, apiKey: "key:secret" });
});
afterAll(async () => {
  await client.close();
  await server.close();
});

const sha256 = createHash("sha256").update(PIXEL).digest("hex");
const whole = { status: "succeeded", report: { steps: [{ outputs: [{ sha256 }] }] } };
const onePicture = pipelineOf("one", ({ job }) => ({ a: job("a", models.image, { prompt: "a" }) }));

/** A run whose outputs come from the server above. */
async function world() {
  let reads = 0;
  const opened = await openFakeShow({
    client: () => ({
      download: (source, path, options) => {
        if (typeof source !== "string" && source.url == null) reads += 1;
        return client.download(`${server.origin}/output`, path, options);
      },
    }),
  });
  return { ...opened, urlReads: () => reads };
}

const type = { "content-type": "image/png" };
const half = PIXEL.subarray(0, Math.floor(PIXEL.length / 2));
/** What comes in place of an output, and how it is sent; HTTP shows none of it. */
const wrong: Readonly<Record<string, readonly [bytes: string | Buffer, head: (size: number) => object]>> = {
  "as an error document": [XML, () => ({})],
  "half without a length, when the connection ends": [half, () => ({ connection: "close" })],
  "half in chunks, with a clean end": [half, () => ({ "transfer-encoding": "chunked" })],
  "half with a length of its own": [half, (size) => ({ "content-length": size })],
};

describe.each(Object.entries(wrong))("An output that comes %s", (_name, [bytes, head]) => {
  const sends = (answer: ServerResponse, body: string | Buffer) => {
    const headers = head(body.length) as OutgoingHttpHeaders;
    answer.useChunkedEncodingByDefault = headers.connection !== "close";
    answer.writeHead(200, { ...type, ...headers }).end(body);
  };

  test("is fetched again, by an address that is read again, until it is whole", async () => {
    const { run, urlReads, paidService } = await world();
    let times = 0;
    send = (answer) => sends(answer, ++times < 3 ? bytes : PIXEL);
    expect(await run(onePicture)).toMatchObject(whole);
    expect([times, paidService.submits]).toEqual([3, 1]);
    expect(urlReads()).toBeGreaterThanOrEqual(2);
  });

  test("each time leaves the step unfinished, says what is not here, and a resume fetches it [G12]", async () => {
    const { show, paidService, run, resume } = await world();
    send = (answer) => sends(answer, bytes);
    const paused = await run(onePicture);
    const message = bytes === XML ? "the downloaded file is damaged: it is XML, not image/png" : "file is damaged: ";
    expect(paused.pause).toMatchObject({ reason: "files", message: expect.stringContaining(message) });
    const steps = [{ status: "running", outputs: [{ sha256: null, file: null }] }];
    expect(await show.show("x")).toMatchObject({ steps, next: { command: "showrunner resume x" } });
    send = (answer) => sends(answer, PIXEL);
    expect(await resume()).toMatchObject(whole);
    expect(paidService.submits).toBe(1);
  });
});

test("an error document at the address that a provider gave is fetched again, and then left to a person", async () => {
  for (const [bad, status] of [
    [2, "succeeded"],
    [Number.POSITIVE_INFINITY, "paused"],
  ] as const) {
    let times = 0;
    send = (answer) => {
      times += 1;
      answer.writeHead(200, { "content-type": "video/mp4" }).end(times <= bad ? XML : TINY_MP4);
    };
    const show = await openFakeShow({ inside: [server.origin] });
    const films = [{ type: "url", url: `${server.origin}/film.mp4`, mediaType: "video/mp4" }];
    const doGenerate = async () => ({ videos: films, warnings: [], response: {} });
    const model = { ...new MockProvider().video(), doGenerate };
    const film = pipelineOf("film", ({ generate }) => ({
      made: generate("made", model as never, { prompt: "x" } as never, { maxCost: "0.5" }),
    }));
    const result = await show.run(film);
    expect(result.status).toBe(status);
    if (status === "paused")
      expect(result.report.steps[0]!.reason).toMatch(/; the result was generated: the file at the output's URL/);
  }
});
