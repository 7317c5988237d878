import { existsSync, globSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { openMediaStore } from "../../../src/core/engine/media/folder-store.ts";
import { greyPng } from "../../../src/core/kit/placeholder-media.ts";
import { createMemoryJournal, file, pipeline } from "../../../src/index.ts";
import { SentFiles } from "../../../src/studio/handler/sent-files.ts";
import { BusyRefusal } from "../../../src/studio/served/index.ts";
import { listen } from "../../support/listen.ts";
import { localShow } from "../../support/local-show.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { errorOf, quoteOf, serve } from "./support/served.ts";

const world = localShow();
const HOUR_MS = 3_600_000;
let filesDir: string;

beforeAll(async () => {
  // Below the working folder, as by default: a path there begins with none of the signs of one.
  filesDir = await mkdtemp(join(process.cwd(), "node_modules", "sent-"));
});
afterAll(() => rm(filesDir, { recursive: true, force: true }));

/** Opens what its input names, whether a file was sent for it or not. */
const named = pipeline("named", {
  input: z.object({ name: z.string(), photo: file("image").optional() }),
  build: ({ upload, input }) => ({ photo: upload("photo", { path: input.name, kind: "image" }) }),
});

/** Makes a picture of one that was sent. */
const sent = pipeline("sent", {
  input: z.object({ photo: file("image") }),
  build: ({ upload, job, input }) => {
    upload("photo", input.photo);
    return { still: job("still", models.image, { prompt: "grey" }) };
  },
});

/** As bytes: Node goes on filling the body of a form that is not read to its end. */
async function form(photo: Uint8Array, fields: { readonly [name: string]: string } = {}) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  body.set("photo", new File([photo as Uint8Array<ArrayBuffer>], "photo.png"));
  const sent = new Response(body);
  return { headers: { "Content-Type": sent.headers.get("Content-Type")! }, body: await sent.bytes() };
}

/** Kept files in a folder of their own, below a clock that the test sets. */
async function ownFiles(most = { each: 1e6, all: 2e6 }) {
  const root = newFolder();
  const media = await openMediaStore(join(root, "media"));
  const show = { journal: createMemoryJournal(), media };
  const parts = { folder: join(root, "sent"), show, most };
  const clock = { now: Date.now() };
  return { ...parts, media, clock, open: (other = {}) => new SentFiles({ ...parts, now: () => clock.now, ...other }) };
}

const sending = (bytes: AsyncIterable<Uint8Array> | string, mostBytes = 1e6) => ({
  bytes: typeof bytes === "string" ? pieces(Buffer.from(bytes)) : bytes,
  ...{ name: "a.txt", mostBytes, tooLarge: () => new Error() as never },
});

/** What lies in the folder of kept files, without marks. */
const filesIn = (folder: string) => globSync("*/*/*.*", { cwd: folder, exclude: (name) => name.startsWith(".") });

test("a file that somebody else sent is opened for nobody who names where it is kept [files by who named them]", async () => {
  const api = serve(world.show, filesDir, { pipelines: { named, sent } });
  const photo = greyPng(8, 8);
  const post = async (as: string, sending: ReturnType<typeof form>, at = "named") =>
    api.send(`/api/${at}/quote`, { as, method: "POST", ...(await sending) });
  expect((await post("victim", form(photo), "sent")).status).toBe(200);
  const [theirs] = filesIn(filesDir);
  const name = relative(process.cwd(), join(filesDir, theirs!));
  for (const written of [name, `${name.split("/")[0]}/./${name.split("/").slice(1).join("/")}`]) {
    const refused = await api.post("/api/named/quote", { input: { name: written } }, { as: "rival" });
    expect(refused.status).toBe(422);
    // Not even where the rival sends the same bytes.
    expect((await post("rival", form(photo, { input: JSON.stringify({ name: written }) }))).status).toBe(422);
  }
  const missing = await api.post("/api/named/quote", { input: { name: `${name}.png` } }, { as: "rival" });
  const there = await api.post("/api/named/quote", { input: { name } }, { as: "rival" });
  const [one, other] = [await errorOf(missing), await errorOf(there)];
  expect(one.message.replace(one.reference ?? "", "")).toBe(other.message.replace(other.reference ?? "", ""));
});

test("code of a pipeline uploads what its author named, by the file that is opened, and so does a run of it later [files by who named them]", async () => {
  const folder = await mkdtemp(join(world.folder, "author-"));
  const [assets, secret] = [join(folder, "assets"), join(folder, "secret.png")];
  await mkdir(assets);
  await writeFile(secret, greyPng(9, 9));
  await writeFile(join(assets, "logo.png"), greyPng(10, 10));
  await symlink(secret, join(assets, "link.png"));
  const branded = pipeline("branded", {
    input: z.object({ logo: z.string() }),
    build: ({ upload, job, input }) => {
      upload("logo", { path: join(assets, input.logo), kind: "image" });
      return { still: job("still", models.image, { prompt: "grey" }) };
    },
  });
  const api = serve(world.show, join(folder, "sent"), {
    pipelines: { branded: { pipeline: branded, files: [assets] }, unnamed: branded },
  });
  const status = async (at: string, logo: string) => (await api.post(`/api/${at}/quote`, { input: { logo } })).status;
  expect(await status("branded", "logo.png")).toBe(200);
  expect(await status("unnamed", "logo.png")).toBe(422);
  expect(await status("branded", "link.png")).toBe(422);
  const { id } = await api.start("branded", { logo: "logo.png" }, { at: "branded" });
  await api.until(id);
  // The same name leads elsewhere now: whoever plans for this run reads nothing that its start could not read.
  await rm(join(assets, "logo.png"));
  await symlink(secret, join(assets, "logo.png"));
  expect((await world.show.drift(id, branded)).isSame).toBe(true);
});

test("a file goes with the refusal, the quote's end or the run that it was sent for, and so does its copy [shares of disk]", async () => {
  const folder = await mkdtemp(join(world.folder, "ends-"));
  const api = serve(world.show, folder, { pipelines: { sent } });
  const post = async (photo: Uint8Array, fields = {}) =>
    api.send("/api/sent/quote", { method: "POST", ...(await form(photo, fields)) });
  // Refused by its schema, by the form, and by what is in the file.
  expect((await post(greyPng(1, 1), { input: '{"photo":{}, "more": 1}', budget: "1", other: "x" })).status).toBe(400);
  expect((await post(greyPng(2, 2), { input: "no JSON" })).status).toBe(400);
  expect((await post(Buffer.from("no picture"))).status).toBe(422);
  expect(filesIn(folder)).toEqual([]);
  const quoted = await quoteOf(await post(greyPng(3, 3)));
  const other = await quoteOf(await post(greyPng(4, 4)));
  expect(filesIn(folder)).toHaveLength(2);
  const start = async (photo: Uint8Array) => {
    const { headers, body } = await form(photo, { quote: quoted.id });
    return api.send("/api/sent/runs", { method: "POST", headers: { ...headers, "Idempotency-Key": "kept" }, body });
  };
  expect((await start(greyPng(3, 3))).status).toBe(201);
  // Again with the same key and another file, which is no file of that run.
  await start(greyPng(5, 5));
  expect(other.id).not.toBe(quoted.id);

  let now = Date.now();
  const { show } = world;
  const files = new SentFiles({ folder, show, most: { each: 1e9, all: 1e9 }, now: () => now });
  now += 23 * HOUR_MS;
  await files.sweep();
  expect(filesIn(folder).length).toBeGreaterThanOrEqual(2);
  now += 2 * HOUR_MS;
  await files.sweep();
  expect(filesIn(folder)).toHaveLength(1);
});

test("copies of what ended leave the media store once nobody can be about to name them [shares of disk]", async () => {
  const { media, clock, open } = await ownFiles();
  const files = open();
  const request = files.request("acme");
  const path = await request.keep(sending("a file"));
  const { sha256 } = await media.put({ path });
  request.mayBeCopied = true;
  await request.release();
  expect([existsSync(path), await media.has(sha256)]).toEqual([false, true]);
  const old = new Date(clock.now - 2 * HOUR_MS);
  await utimes(media.path(sha256), old, old);
  await files.sweep();
  expect(await media.has(sha256)).toBe(true);
  clock.now += 3 * HOUR_MS;
  await files.sweep();
  expect(await media.has(sha256)).toBe(false);
});

test("a caller has a share of the disk, and what a process left counts in the next one [shares of disk]", async () => {
  const { clock, open } = await ownFiles();
  const keep = async (files: SentFiles, owner: string, text: string, until = clock.now + HOUR_MS) => {
    const request = files.request(owner);
    try {
      await request.keep(sending(text));
      if (until > 0) await request.keepFor({ until });
      return "kept";
    } catch (error) {
      if (error instanceof BusyRefusal) return error.status;
      throw error;
    } finally {
      await request.release();
    }
  };
  const first = open();
  expect(await keep(first, "a", "x".repeat(600_000))).toBe("kept");
  // What was refused, or is there already, takes nothing.
  for (let at = 0; at < 5; at += 1) expect(await keep(first, "a", `${at}`.repeat(300_000), 0)).toBe("kept");
  expect(await keep(first, "a", "x".repeat(300_000))).toBe("kept");
  const second = open();
  expect(await keep(second, "a", "y".repeat(300_000))).toBe(429);
  expect(await keep(second, "b", "z".repeat(500_000))).toBe("kept");
  expect(await keep(second, "c", "w".repeat(700_000))).toBe(503);
  expect(await keep(second, "c", "w".repeat(200_000))).toBe("kept");
});

test("files of a byte take what they take of the disk: a caller cannot fill it with their folders [shares of disk]", async () => {
  const { folder, open } = await ownFiles({ each: 2e5, all: 4e5 });
  const request = open().request("acme");
  const keep = (text: string) => request.keep(sending(text, 1));
  const kept = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => keep(String.fromCharCode(97 + n))));
  const refused = kept.filter(({ status }) => status === "rejected");
  expect(refused.length).toBe(4);
  for (const { reason } of refused as PromiseRejectedResult[]) expect(reason).toBeInstanceOf(BusyRefusal);
  await request.release();
  expect(filesIn(folder)).toEqual([]);
});

test("a file that comes after its request was refused goes too [shares of disk]", async () => {
  const { promise, resolve } = Promise.withResolvers<Uint8Array>();
  const request = (await ownFiles()).open().request("acme");
  const keeping = request.keep(sending(later(promise)));
  await request.release();
  resolve(Buffer.from("late"));
  expect(existsSync(await keeping)).toBe(false);
});

test("a run whose engine could not be reached at its start keeps its file, and the quote of a refused start keeps it within the caller's share [shares of disk]", async () => {
  const folder = await mkdtemp(join(world.folder, "unreached-"));
  const marks = () => globSync("*/*/.run-*", { cwd: folder });
  let atWake: readonly string[] = [];
  const wake = async () => {
    atWake = marks();
    throw new Error("the queue is away");
  };
  const api = serve(world.show, folder, { pipelines: { sent }, engine: { wake } });
  const send = async (fields: Record<string, string>, key = "unreached") => {
    const { headers, body } = await form(greyPng(6, 6), fields);
    return api.send("/api/sent/runs", { method: "POST", headers: { ...headers, "Idempotency-Key": key }, body });
  };
  expect((await send({ quote: "unknown" })).status).toBe(409);
  expect([filesIn(folder).length, marks()]).toEqual([1, []]);
  const asked = (await (await send({})).json()) as { readonly error: { readonly quote: { readonly id: string } } };
  expect((await send({ quote: asked.error.quote.id })).status).toBe(500);
  expect(atWake).toHaveLength(1);
  const now = Date.now() + 100 * HOUR_MS;
  await new SentFiles({ folder, show: world.show, most: { each: 1e9, all: 1e9 }, now: () => now }).sweep();
  expect([filesIn(folder).length, marks()]).toEqual([1, atWake]);
});

test("a file that is sent again while it is swept is there for its request [shares of disk]", async () => {
  const { clock, open } = await ownFiles();
  const files = open();
  const first = files.request("acme");
  const path = await first.keep(sending("a file"));
  first.mayBeCopied = true;
  await first.release();
  clock.now += 3 * HOUR_MS;
  const { promise, resolve } = Promise.withResolvers<Uint8Array>();
  const again = files.request("acme");
  const keeping = again.keep(sending(later(promise)));
  await files.sweep();
  resolve(Buffer.from("a file"));
  expect(existsSync(await keeping)).toBe(true);
  await again.release();
  clock.now += 3 * HOUR_MS;
  await files.sweep();
  expect(existsSync(dirname(path))).toBe(false);
});

test("a file that is sent again to one process while another one removes it is there for its request [shares of disk]", async () => {
  const { folder, show, open } = await ownFiles();
  const [looked, marked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // Asked once it is known that no request uses the file.
  const run = async () => {
    looked.resolve();
    await marked.promise;
    return null;
  };
  const [first, second] = [open({ show: { ...show, journal: { run } as never } }), open()];
  const ending = first.request("acme");
  const path = await ending.keep(sending("a file"));
  await ending.keepFor({ run: "never-started" });
  const released = ending.release();
  await looked.promise;
  const again = second.request("acme");
  const keeping = again.keep(sending("a file"));
  while (globSync("*/*/.request-*", { cwd: folder }).length === 0) await new Promise(setImmediate);
  marked.resolve();
  await released;
  expect(await keeping).toBe(path);
  expect(filesIn(folder)).toHaveLength(1);
  await again.release();
  expect(existsSync(dirname(path))).toBe(false);
});

test("two processes that keep, let go of and sweep the same few files take none from a request that uses it [shares of disk]", async () => {
  const { folder, open } = await ownFiles();
  const both = [open(), open()];
  let lost = 0;
  const asking = async (files: SentFiles, index: number) => {
    for (let round = 0; round < 15; round += 1) {
      const request = files.request("acme");
      const path = await request.keep(sending(`file ${round % 2}`));
      request.mayBeCopied = (round + index) % 3 === 0;
      if (round % 5 === 0) await files.sweep();
      if (!existsSync(path)) lost += 1;
      await request.release();
    }
  };
  await Promise.all([0, 1, 2, 3].map((index) => asking(both[index % 2]!, index)));
  expect(lost).toBe(0);
  expect(filesIn(folder)).toEqual([]);
});

test.each(["before its request is answered", "after it"])(
  "what a request let go of counts no more once another file of its caller has failed, %s [shares of disk]",
  async (when) => {
    const { folder, open } = await ownFiles({ each: 1e6, all: 3e6 });
    const files = open();
    const { promise, reject } = Promise.withResolvers<Uint8Array>();
    // Nobody may have begun to read when it is rejected.
    promise.catch(() => undefined);
    const [first, failing, next] = [files.request("acme"), files.request("acme"), files.request("acme")];
    await first.keep(sending("x".repeat(600_000)));
    const failed = failing.keep(sending(later(promise))).catch(() => "failed");
    await first.release();
    if (when === "after it") await failing.release();
    reject(new Error("cut short"));
    expect(await failed).toBe("failed");
    if (when !== "after it") await failing.release();
    expect(filesIn(folder)).toEqual([]);
    expect(existsSync(await next.keep(sending("y".repeat(600_000))))).toBe(true);
  },
);

test("a form and the files at the URLs that it names have one bound together", async () => {
  const server = await listen(createServer((_request, response) => response.end(Buffer.alloc(3_000))));
  const two = pipeline("two", {
    input: z.object({ photo: file("image").optional(), other: file("image") }),
    build: ({ upload, input }) => ({ other: upload("other", input.other) }),
  });
  const folder = await mkdtemp(join(world.folder, "bound-"));
  const api = serve(world.show, folder, { pipelines: { two }, inside: [server.origin], mostBytes: 5_000 });
  const input = { other: `${server.origin}/other.png` };
  const alone = await api.post("/api/two/quote", { input });
  expect(alone.status, await alone.text()).toBe(422);
  const both = await form(Buffer.alloc(3_000), { input: JSON.stringify(input) });
  expect((await api.send("/api/two/quote", { method: "POST", ...both })).status).toBe(413);
  expect(filesIn(folder)).toEqual([]);
  await server.close();
});

async function* later(bytes: Promise<Uint8Array>) {
  yield await bytes;
}

async function* pieces(bytes: Uint8Array) {
  yield bytes;
}
