import { globSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { greyPng } from "../../../src/core/kit/placeholder-media.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { localShow } from "../../support/local-show.ts";
import { isFull } from "../../support/sample.ts";
import { words } from "../../support/word-list.ts";
import { errorOf, type Served, serve } from "./support/served.ts";

const world = localShow();
let filesDir: string;
let api: Served;
beforeAll(() => {
  filesDir = join(world.folder, "sent");
  api = serve(world.show, filesDir, { mostStreams: 2 });
});

const quoteAs = async (as: string) =>
  (await api.post("/api/still/quote", { input: { prompt: "grey" } }, { as })).status;

test("a caller has so many event streams, and another one still gets theirs [shares of streams]", async () => {
  const open = new AbortController();
  const [mine, theirs] = [
    await api.start("waits", {}, { at: "picked" }),
    await api.start("waits", {}, { at: "picked", as: "other" }),
  ];
  const stream = (id: string, as: string) => api.send(`/api/runs/${id}/events`, { as, signal: open.signal });
  expect([(await stream(mine.id, "acme")).status, (await stream(mine.id, "acme")).status]).toEqual([200, 200]);
  const refused = await stream(mine.id, "acme");
  expect([refused.status, refused.headers.get("Retry-After")]).toEqual([429, "60"]);
  expect((await stream(theirs.id, "other")).status).toBe(200);
  open.abort();
  expect((await stream(mine.id, "acme")).status).toBe(200);
  api.handler.close();
});

test("bodies that never end take a share of the memory, and give it back [shares of memory]", async () => {
  const ends: (() => void)[] = [];
  const piece = Buffer.alloc(1_000_000, " ");
  const sending = Array.from({ length: 80 }, () => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(piece);
        ends.push(() => controller.close());
      },
    });
    const headers = { "Content-Type": "application/json" };
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    return api.send("/api/still/quote", { as: "greedy", ...init });
  });
  const refused = await Promise.race(sending);
  expect([refused.status, refused.headers.get("Retry-After")]).toEqual([429, "5"]);
  expect(await quoteAs("other")).toBe(200);
  for (const end of ends) {
    try {
      end();
    } catch {
      // One that was refused is closed already.
    }
  }
  const statuses = (await Promise.all(sending)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 429).length).toBeLessThan(40);
  expect(await quoteAs("greedy")).toBe(200);
});

const text = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.string({ unit: anyCharacter, maxLength: 12 }),
  fc.constantFrom("\0", '"; filename="x', "x".repeat(300)),
  fc.constantFrom(...words("photo input ../../x /etc/passwd a%00b photo.0 __proto__ con")),
);
const header = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(text, text).map(([name, file]) => `form-data; name="${name}"; filename="${file}"`) },
  { weight: 3, arbitrary: text.map((name) => `form-data; name="${name}"`) },
  { weight: 2, arbitrary: fc.constant('form-data; name="photo"; filename="photo.png"') },
  { weight: 1, arbitrary: fc.tuple(text, text).map(([one, other]) => `${one}; filename*=UTF-8''${other}`) },
);
const content = fc.oneof(
  fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)),
  fc.json().map((json) => Buffer.from(json)),
  fc.constantFrom(
    ...[greyPng(4, 4), '{"prompt":"grey"}', "", "\r\n--x\r\n\r\n"].map((part) => Buffer.from(part as string)),
  ),
);
const more = ["Content-Type: image/png", "Content-Transfer-Encoding: base64", `X: ${"y".repeat(9_000)}`];
const part = fc.tuple(header, fc.constantFrom("", ...more.map((line) => `\r\n${line}`)), content);
/** A form as no browser writes it: parts of any kind and number, cut, swollen or with another boundary. */
const form = fc
  .tuple(
    fc.array(part, { maxLength: 8 }),
    fc.double({ min: 0.2, max: 1, noNaN: true }),
    fc.constantFrom("x", "y", '"x"', "", "x; charset=utf-16"),
    fc.boolean(),
  )
  .map(([parts, cut, boundary, isWhole]) => {
    const pieces = parts.flatMap(([disposition, more, bytes]) => [
      Buffer.from(`--x\r\nContent-Disposition: ${disposition}${more}\r\n\r\n`),
      bytes,
      Buffer.from("\r\n"),
    ]);
    const whole = Buffer.concat([...pieces, Buffer.from("--x--\r\n")]);
    const body = isWhole ? whole : whole.subarray(0, Math.floor(whole.length * cut));
    return { body, type: `multipart/form-data; boundary=${boundary}` };
  });

const FORMS = isFull ? 5_000 : 150;

test(`of ${FORMS} hostile forms none leaves a file, says a word of this machine, or keeps others waiting [shares of disk]`, async () => {
  await fc.assert(
    fc.asyncProperty(form, async ({ body, type }) => {
      const sent = { method: "POST", headers: { "Content-Type": type }, body: new Uint8Array(body) };
      const response = await api.send("/api/still/quote", { as: "rival", ...sent });
      const answer = await response.text();
      expect([200, 400, 413, 415, 422], answer).toContain(response.status);
      expect(answer).not.toContain(world.folder);
      expect(answer).not.toMatch(/node_modules|ENOENT|busboy|Dicer/i);
      const outside = globSync("*", { cwd: world.folder }).toSorted();
      expect(outside.filter((name) => !["media", "sent", "service"].includes(name))).toEqual([]);
      if (response.status !== 200) expect(globSync("*/*/.request-*", { cwd: filesDir })).toEqual([]);
    }),
    { numRuns: FORMS },
  );
  expect(globSync("*/*.part", { cwd: filesDir })).toEqual([]);
  expect(await quoteAs("other")).toBe(200);
  expect(api.defects).toEqual([]);
});

test("a form that is refused says why", async () => {
  const body = '--x\r\nContent-Disposition: form-data; name="other"\r\n\r\n1\r\n--x--\r\n';
  const headers = { "Content-Type": "multipart/form-data; boundary=x" };
  const refused = await api.send("/api/still/quote", { method: "POST", headers, body });
  expect(await errorOf(refused)).toMatchObject({ code: "BAD_REQUEST", field: "other" });
});
