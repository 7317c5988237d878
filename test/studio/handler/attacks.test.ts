import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { pipeline } from "../../../src/index.ts";
import { localShow } from "../../support/local-show.ts";
import { isFull } from "../../support/sample.ts";
import { words } from "../../support/word-list.ts";
import { errorOf, eventsIn, type Served, serve, textUntil } from "./support/served.ts";

const world = localShow();
const SECRET = "nobody-outside-reads-this";
let api: Served;
let victim: { readonly id: string; readonly url: string; readonly size: number; readonly seqs: readonly number[] };
let other: { readonly id: string; readonly url: string };

const urlOf = (run: { readonly outputs: object }) => (run.outputs as { still: { url: string } }).still.url;

beforeAll(async () => {
  api = serve(world.show, join(world.folder, "sent"));
  await mkdir(join(world.folder, "sent"), { recursive: true });
  await writeFile(join(world.folder, "secret.txt"), SECRET);
  const [mine, theirs] = await Promise.all([
    api.start("victim", { prompt: "grey" }, { as: "victim" }),
    api.start("other", { prompt: "blue" }, { as: "rival" }),
  ]);
  const [run, second] = [await api.until(mine.id), await api.until(theirs.id)];
  const whole = await (await api.send(urlOf(run), { as: null })).arrayBuffer();
  const seqs = eventsIn(await api.events(run.id, { as: "victim" }));
  victim = { id: run.id, url: urlOf(run), size: whole.byteLength, seqs: seqs.map(({ id }) => id) };
  other = { id: second.id, url: urlOf(second) };
});

const odd = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.constantFrom("\0", ...words("..\\.. .. ../.. %2e%2e%2f /etc/passwd __proto__ constructor -1 1e999 NaN *")),
);

/** Each sends something that must not succeed, or checks that what succeeds says nothing that it should not. */
const attacks = fc.oneof(
  // Somebody else's run, by every door.
  fc
    .tuple(
      fc.constantFrom("rival", "", "victim2", "Victim"),
      fc.constantFrom("", "/events", "/decisions", "/stop"),
      odd,
    )
    .map(([as, door, step]) => async () => {
      const path = `/api/runs/${victim.id}${door}`;
      const isPost = door === "/decisions" || door === "/stop";
      const response = isPost ? await api.post(path, { step, approve: true }, { as }) : await api.send(path, { as });
      expect([401, 404]).toContain(response.status);
      expect(await response.text()).not.toContain("still");
    }),
  // A signed address, changed in one place, or with the signature of another one.
  fc
    .tuple(fc.constantFrom("type", "ends", "mark", "run", "name", "swap", "late"), odd, fc.nat())
    .map(([what, text, at]) => async () => {
      const url = new URL(victim.url, "http://films.test");
      const rival = new URL(other.url, "http://films.test");
      const before = url.href;
      if (what === "swap") url.pathname = url.pathname.replace(victim.id, other.id);
      else if (what === "late") url.searchParams.set("ends", String(Number(url.searchParams.get("ends")) + 1 + at));
      else if (what === "run")
        url.pathname = `/api/media/${encodeURIComponent(text || "x")}/${url.pathname.split("/").at(-1)}`;
      else if (what === "name")
        url.pathname = url.pathname.replace(/[0-9a-f](?=\.[a-z0-9]+$)/, (c) => (c === "0" ? "1" : "0"));
      else if (what === "mark") url.searchParams.set("mark", at % 2 === 0 ? rival.searchParams.get("mark")! : text);
      else url.searchParams.set(what, text);
      if (url.href === before) return;
      const response = await api.send(url.pathname + url.search, { as: at % 3 === 0 ? "rival" : null });
      expect([401, 404]).toContain(response.status);
    }),
  // Whatever a reader says to have seen, it gets events of this run, in order, and nothing else.
  fc.oneof(odd, fc.integer().map(String), fc.nat(12).map(String)).map((id) => async () => {
    const isHeader = /^[\x20-\x7e]*$/.test(id);
    const headers: Record<string, string> = isHeader ? { "Last-Event-ID": id } : {};
    const path = `/api/runs/${victim.id}/events${isHeader ? "" : `?after=${encodeURIComponent(id)}`}`;
    const response = await api.send(path, { as: "victim", headers });
    const seen = response.status === 204 ? [] : eventsIn(await textUntil(response, () => false));
    expect(victim.seqs.slice(victim.seqs.length - seen.length)).toEqual(seen.map(({ id: seq }) => seq));
  }),
  // Addresses that lead nowhere.
  fc
    .array(fc.oneof(odd, fc.constantFrom("runs", "media", "still", "quote", "events", "secret.txt")), { maxLength: 5 })
    .map((parts) => async () => {
      const path = `/api/${parts.map((part) => encodeURIComponent(part)).join("/")}`;
      const response = await api.send(path, { as: "rival" });
      const text = await response.text();
      if (path !== "/api/runs" && path !== "/api/runs/") expect(response.ok).toBe(false);
      expect(text).not.toContain(SECRET);
      expect(text).not.toContain(world.folder);
    }),
  // Ranges: exactly what exists of them.
  fc
    .oneof(
      fc.tuple(fc.nat(200_000), fc.nat(200_000)).map(([from, to]) => `bytes=${from}-${to}`),
      fc.nat(300_000).map((from) => `bytes=${from}-`),
      fc.nat(300_000).map((last) => `bytes=-${last}`),
      fc.constantFrom("bytes=0-0,1-1", "bytes=--1", "bytes=9999999999999999-", "items=0-1", "bytes="),
    )
    .map((range) => async () => {
      const response = await api.send(victim.url, { as: null, headers: { Range: range } });
      const { byteLength } = await response.arrayBuffer();
      expect([200, 206, 416]).toContain(response.status);
      const said = response.status === 416 ? 0 : Number(response.headers.get("Content-Length"));
      expect(byteLength).toBe(said);
      expect(byteLength).toBeLessThanOrEqual(victim.size);
    }),
  // Files of this machine, by any name.
  fc
    .constantFrom(...words("secret.txt ./secret.txt ../secret.txt package.json /etc/passwd file:///etc/hosts ~/x.png"))
    .chain((name) => fc.constantFrom(name, join("/", name), `${name}\0.png`, { path: name }).map((photo) => photo))
    .map((photo) => async () => {
      const response = await api.post("/api/still/quote", { input: { prompt: "x", photo } }, { as: "rival" });
      expect(response.status).toBe(400);
      expect(await response.text()).not.toContain("ENOENT");
    }),
  // URLs that lead inside.
  fc
    .constantFrom(
      ...words(`
    http://127.0.0.1/x.png http://[::1]/x.png http://169.254.169.254/latest http://2130706433/ http://localhost/
    http://a:b@10.0.0.1/
  `),
    )
    .map((photo) => async () => {
      const response = await api.post("/api/still/quote", { input: { prompt: "x", photo } }, { as: "rival" });
      expect([response.status, (await errorOf(response)).field]).toEqual([400, "photo"]);
    }),
  // Hosts: nothing that is answered leads to one that the request names.
  fc.domain().map((host) => async () => {
    const headers = { Host: host, "X-Forwarded-Host": host, Forwarded: `host=${host}` };
    const response = await api.send(`/api/runs/${victim.id}`, { as: "victim", headers });
    expect(await response.text()).not.toContain(`//${host}`);
  }),
  // Bodies of any shape are refused with a reason, and are nobody's defect.
  fc
    .tuple(
      fc.constantFrom("still/quote", "still/runs", "runs/x/decisions"),
      fc.json(),
      fc.constantFrom("application/json", "multipart/form-data; boundary=x", "text/plain"),
    )
    .map(([path, body, type]) => async () => {
      const headers = { "Content-Type": type, "Idempotency-Key": "odd" };
      const response = await api.send(`/api/${path}`, { as: "rival", method: "POST", headers, body });
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(response.status).toBeLessThan(500);
    }),
);

/** 500 of a check of every change; 20,000 of a full one. */
const ATTACKS = isFull ? 20_000 : 500;

test(`of ${ATTACKS} random attacks none gets through`, async () => {
  await fc.assert(
    fc.asyncProperty(attacks, (attack) => attack()),
    { numRuns: ATTACKS },
  );
  expect(api.defects).toEqual([]);
  expect(await world.show.runs({ tags: { customer: "rival" } })).toMatchObject([{ runId: other.id }]);
  expect(await world.show.spending({ tag: "customer=rival" })).toMatchObject({ heldMicros: 0 });
}, 120_000);

test("a part of a form makes no list of billions of holes", async () => {
  for (const at of ["length", "4294967294", "1e9", "-1", "101"]) {
    const form = new FormData();
    form.set("input", JSON.stringify({ list: [] }));
    form.set(`list.${at}`, new File(["x"], "x.png"));
    const response = await api.send("/api/still/quote", { as: "rival", method: "POST", body: form });
    expect([at, response.status]).toEqual([at, 400]);
  }
  expect(api.defects).toEqual([]);
});

test("a long text is judged in little time", async () => {
  const began = process.cpuUsage();
  const prompt = `${"../".repeat(300_000)} x`;
  const response = await api.post("/api/still/quote", { input: { prompt } }, { as: "rival" });
  expect(response.status).toBe(400);
  expect(process.cpuUsage(began).user).toBeLessThan(5_000_000);
});

test("a step upwards in a name with spaces is a path, and of a file nothing says whether it is there", async () => {
  const kite = pipeline("kite", {
    input: z.object({ name: z.string() }),
    build: ({ upload, job, input }) => {
      upload("picture", { path: join(world.folder, "pictures", input.name), kind: "image" });
      return { still: job("still", models.image, { prompt: "a kite" }) };
    },
  });
  const own = serve(world.show, join(world.folder, "sent"), { pipelines: { kite } });
  for (const name of ["x y/../../secret.txt", "a b\\..\\..\\secret.txt", ".. /../secret.txt", "x y/.."]) {
    const response = await own.post("/api/kite/quote", { input: { name } });
    expect([response.status, (await errorOf(response)).field]).toEqual([400, "input.name"]);
  }
  await mkdir(join(world.folder, "pictures"), { recursive: true });
  await writeFile(join(world.folder, "pictures", "there"), SECRET);
  const answers = ["there", "not there"].map(async (name) => {
    const { message, reference } = await errorOf(await own.post("/api/kite/quote", { input: { name } }));
    return message.replace(reference!, "");
  });
  expect(new Set(await Promise.all(answers)).size).toBe(1);
});

test("a form of a million parts is refused before it is parsed", async () => {
  const part = '--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\n\r\n';
  const headers = { "Content-Type": "multipart/form-data; boundary=x" };
  const began = process.cpuUsage();
  const body = part.repeat(300_000);
  const response = await api.send("/api/still/quote", { as: "rival", method: "POST", headers, body });
  expect(response.status).toBe(400);
  expect(process.cpuUsage(began).user).toBeLessThan(5_000_000);
});

test("a text that ends in the middle of an emoji is priced and made like any other", async () => {
  const half = "a kite \ud83d";
  const priced = await api.post("/api/still/quote", { input: { prompt: half } }, { as: "halved" });
  expect(priced.status).toBe(200);
  const { id } = await api.start("half", { prompt: half }, { as: "halved" });
  expect((await api.until(id)).status).toBe("succeeded");
  expect(api.defects).toEqual([]);
});

test("a name within an input is a text of the caller like any other", async () => {
  const map = pipeline("map", {
    input: z.object({ map: z.record(z.string(), z.string()) }),
    build: ({ job }) => ({ still: job("still", models.image, { prompt: "a kite" }) }),
  });
  const own = serve(world.show, join(world.folder, "sent"), { pipelines: { map } });
  const status = async (name: string) => (await own.post("/api/map/quote", { input: { map: { [name]: "x" } } })).status;
  expect([await status("a b/../../x"), await status("/etc/passwd"), await status("a/b")]).toEqual([400, 400, 200]);
});
