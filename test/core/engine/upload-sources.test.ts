import { readdirSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openMediaStore } from "../../../src/core/engine/media/folder-store.ts";
import { fetchFile } from "../../../src/core/engine/media/open-file.ts";
import type { UploadStep } from "../../../src/core/plan/kinds/upload.ts";
import { models, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { type FakeService, fakeService } from "../../support/fake-service.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { PIXEL } from "../../support/tiny-media.ts";

let server: FakeService;
let origin = "";

beforeAll(async () => {
  server = await fakeService((asked, response) => {
    const path = asked.path.split("?")[0];
    if (path === "/a.png") return void response.end(PIXEL);
    if (path === "/empty.png") return void response.end();
    if (path === "/moved.png") return void response.writeHead(302, { location: "/a.png" }).end();
    response.writeHead(403).end("no");
  });
  ({ origin } = server);
});
afterAll(() => server.close());

const uploads = (file: string | Uint8Array | URL | { readonly bytes: Uint8Array; readonly kind: "image" | "audio" }) =>
  pipelineOf("p", ({ job, upload }) => ({
    drawn: job("drawn", models.image, { prompt: "x", images: [upload("given", file) as never] }),
  }));

const fileOf = async (given: Parameters<typeof uploads>[0]) => {
  const { show } = await openFakeShow({ inside: [origin] });
  const made = await show.plan(uploads(given), {});
  return made.ok ? (made.plan.steps[0] as UploadStep) : made.problems;
};

test("bytes, a URL and what it leads to are the same upload as the file that they are", async () => {
  const first = (await fileOf(PIXEL)) as UploadStep;
  expect(first).toMatchObject({
    kind: "upload",
    yields: "image",
    file: { contentType: "image/png", sizeBytes: PIXEL.length },
  });
  for (const same of [{ bytes: PIXEL, kind: "image" } as const, `${origin}/a.png`, new URL(`${origin}/moved.png`)]) {
    expect(((await fileOf(same)) as UploadStep).fingerprint).toBe(first.fingerprint);
  }
});

test("a URL's query, which may be a secret, is in no plan, problem or event", async () => {
  const secret = "signature=verysecret";
  const world = await openFakeShow({ inside: [origin] });
  await world.run(uploads(`${origin}/a.png?${secret}`));
  for await (const { event } of world.show.events("x")) expect(JSON.stringify(event)).not.toContain("verysecret");
  for (const path of ["/gone.png", "/empty.png"]) {
    const problems = await fileOf(`${origin}${path}?${secret}`);
    expect(JSON.stringify(problems)).not.toContain("verysecret");
    expect(problems).toMatchObject([{ code: "missing-file", step: "given", field: "file" }]);
  }
});

test("what cannot be fetched, or is of another kind, is a problem that says so", async () => {
  expect(await fileOf(`${origin}/gone.png`)).toMatchObject([
    { message: `${origin}/gone.png answered 403; check the URL` },
  ]);
  expect(await fileOf("http://127.0.0.1:1/a.png")).toMatchObject([{ code: "missing-file" }]);
  expect(await fileOf({ bytes: PIXEL, kind: "audio" })).toMatchObject([
    { code: "not-media-file", step: "given" },
    { code: "media-kind", step: "drawn" },
  ]);
  expect(await fileOf(new Uint8Array())).toMatchObject([
    { code: "missing-file", message: expect.stringContaining("empty") },
  ]);
});

test("a URL that gives more than it may is left alone, and nothing of it stays", async () => {
  const folder = newFolder();
  const media = await openMediaStore(folder);
  expect(await fetchFile(`${origin}/a.png`, media, { inside: [origin], maxBytes: PIXEL.length - 1 })).toEqual({
    error: `${origin}/a.png could not be fetched (it exceeds ${PIXEL.length - 1} bytes)`,
  });
  const left = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(left).toEqual([]);
  expect(await fetchFile(`${origin}/a.png`, media, { inside: [origin], maxBytes: PIXEL.length })).toMatchObject({
    sizeBytes: PIXEL.length,
  });
});

test("bytes that change later change no upload", async () => {
  const { show } = await openFakeShow();
  const bytes = new Uint8Array(PIXEL);
  const changing = pipelineOf("p", ({ upload }) => {
    const given = upload("given", bytes);
    bytes.fill(0);
    return { given };
  });
  const made = await show.plan(changing, {});
  expect(made.ok && made.plan.steps[0]).toMatchObject({ file: { sizeBytes: PIXEL.length, contentType: "image/png" } });
});
