/** What a caller does who wants more than is theirs: runs, money, words and files of others, of the operator and of this machine. */

import { globSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { greyPng } from "../../../src/core/kit/placeholder-media.ts";
import { CallerError, file, pipeline } from "../../../src/index.ts";
import { expectAbsent } from "../../support/expect-absent.ts";
import { localShow } from "../../support/local-show.ts";
import { isFull } from "../../support/sample.ts";
import { words } from "../../support/word-list.ts";
import { byHeader, picked, quoteOf, type Served, serve, still } from "./support/served.ts";

const world = localShow();
const WORDS = "the victim's own words";
let api: Served;
let victim: { readonly id: string; readonly quote: string; readonly waits: string };

/** Takes what it is given into every place that it can. */
const greedy = pipeline("greedy", {
  input: z.object({
    name: z.string().optional(),
    count: z.number().optional(),
    list: z.array(z.unknown()).optional(),
    map: z.record(z.string(), z.unknown()).optional(),
    photo: file("image").optional(),
    photos: z.array(z.object({ image: file("image") })).optional(),
  }),
  build: ({ job, upload, input }) => {
    if (input.name === "throw") throw new Error(`${process.cwd()} postgres://u:pw@db sk-abcdefghijklmnop`);
    if (input.name === "caller") throw new CallerError("that is yours");
    if (input.photo !== undefined) upload("photo", input.photo);
    if (input.name !== undefined) upload("named", { path: input.name, kind: "image" });
    for (const [index, key] of Object.keys(input.map ?? {}).entries())
      upload(`key-${index}`, { path: key, kind: "image" });
    return { still: job("still", models.image, { prompt: input.name ?? "grey" }) };
  },
});

beforeAll(async () => {
  await mkdir(join(world.folder, "sent"), { recursive: true });
  await writeFile(join(world.folder, "there.png"), greyPng(4, 4));
  api = serve(world.show, join(world.folder, "sent"), {
    pipelines: { still, picked, greedy },
    authorize: byHeader({ budget: "0.5" }),
    mostStreams: 50,
  });
  const run = await api.start("victim", { prompt: WORDS }, { as: "victim" });
  const waits = await api.start("waits", {}, { as: "victim", at: "picked" });
  await api.until(run.id);
  const quoted = await api.post("/api/still/quote", { input: { prompt: WORDS } }, { as: "victim" });
  victim = { id: run.id, quote: (await quoteOf(quoted)).id, waits: waits.id };
});

const text = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.string({ unit: "binary", maxLength: 10 }),
  fc.constantFrom(
    ...["", " ", "\u202egnp.x", "\ud800", "a\0b"],
    ...words("__proto__ constructor toString %00 - still look"),
  ),
  fc.constantFrom(
    "a b/../../there.png",
    ...words("../../there.png there.png /etc/passwd ..\\x file:///etc/hosts ~root/x"),
  ),
  fc.constantFrom("sent", "service", "$HOME", "$(id)", "{{1}}", "' OR 1=1 --", "<script>", "x".repeat(5_000)),
);
const json = fc.oneof(fc.jsonValue(), text, fc.constantFrom(1e308, -0, 2 ** 53, [], {}, null, true));
const money = fc.oneof(
  text,
  fc.constantFrom("0", "-1", "1e9", "NaN", "Infinity", "0x10", "999999999999", "0.0000001", "1,5", " 1 "),
  json,
);
const key = fc.oneof(
  fc.constantFrom("victim\t", "x".repeat(200), "x".repeat(201)),
  fc.constantFrom(...words("victim waits Victim victim,other a = customer=victim")),
  fc.string({ minLength: 1, maxLength: 20 }).filter((one) => /^[\x21-\x7e]+$/.test(one)),
);
const as = fc.constantFrom(
  ...words('rival rival2 RIVAL victim2 victim. customer=victim victim,rival {"customer":"victim"}'),
);
const at = fc.constantFrom(...words("still picked greedy runs Still still%2f __proto__ constructor openapi.json"));
const header = fc.dictionary(
  fc.constantFrom(
    ...words(`
    X-HTTP-Method-Override X-Forwarded-For X-Original-URL Cookie Content-Encoding Range Origin Accept
    Transfer-Encoding Expect If-None-Match
  `),
  ),
  fc.constantFrom(
    "a=b; customer=victim",
    ...words("GET DELETE 127.0.0.1 /api/runs/ gzip bytes=0- null */* chunked 100-continue *"),
  ),
  { maxKeys: 3 },
);

type Attack = () => Promise<Response | readonly Response[]>;

const attacks: fc.Arbitrary<Attack> = fc.oneof(
  // A start under another one's key, by another one's quote, with money of one's own making.
  fc
    .tuple(
      as,
      key,
      at,
      fc.record(
        {
          ...{ input: fc.oneof(json, fc.constant({ prompt: WORDS })), quote: fc.oneof(text, fc.constant("VICTIM")) },
          ...{ budget: money, title: text, agree: text, tags: json, id: text },
        },
        { requiredKeys: [] },
      ),
    )
    .map(([as, key, at, body]) => () => {
      const quote = "quote" in body && body.quote === "VICTIM" ? { quote: victim.quote } : {};
      return api.post(`/api/${at}/runs`, { ...body, ...quote }, { as, headers: { "Idempotency-Key": key } });
    }),
  // An input that names places, as text, key, file and list.
  fc
    .tuple(
      as,
      fc.record(
        {
          ...{ name: text, count: json, list: fc.array(json), photo: json, photos: json },
          map: fc.dictionary(text, json, { maxKeys: 4 }),
        },
        { requiredKeys: [] },
      ),
    )
    .map(([as, input]) => {
      return () => api.post("/api/greedy/quote", { input }, { as });
    }),
  fc.tuple(as, fc.constantFrom("throw", "caller")).map(([as, name]) => {
    return () => api.post("/api/greedy/quote", { input: { name } }, { as });
  }),
  // Decisions and stops of a run of somebody else, and of none.
  fc
    .tuple(
      as,
      fc.constantFrom("id", "waits"),
      fc.constantFrom("decisions", "stop", "events", ""),
      fc.record({ step: text, approve: json, pick: json, note: text, value: json }),
    )
    .map(([as, which, door, body]) => async () => {
      const path = `/api/runs/${victim[which as "id"]}${door === "" ? "" : `/${door}`}`;
      const response = await (door === "events" || door === "" ? api.send(path, { as }) : api.post(path, body, { as }));
      expect([401, 404], `${as} ${path}`).toContain(response.status);
      return response;
    }),
  // Lists with filters and positions.
  fc
    .tuple(
      as,
      fc.dictionary(fc.constantFrom("limit", "before", "pipeline", "tags", "customer", "tag"), text, { maxKeys: 4 }),
    )
    .map(([as, query]) => {
      return () => api.send(`/api/runs?${new URLSearchParams(query)}`, { as });
    }),
  // Bodies in other codings, of any type, under headers that proxies believe.
  fc
    .tuple(
      as,
      header,
      fc.constantFrom(
        ...["application/json; charset=utf-16", "application/json, text/plain", "application/json", "text/json"],
        ...["application/x-www-form-urlencoded", "multipart/form-data"],
      ),
      fc.constantFrom<string | Uint8Array<ArrayBuffer>>(
        '{"input":{"prompt":"x"},"input":{"prompt":"y"}}',
        '{"__proto__":{"budget":"9"},"input":{}}',
        new Uint8Array(gzipSync('{"input":{"prompt":"x"}}')),
        "prompt=x",
        "[".repeat(5_000),
        '{"input":'.repeat(2_000),
        "\ufeff{}",
        "",
      ),
    )
    .map(([as, more, type, body]) => {
      const headers = { ...more, "Content-Type": type };
      return () => api.send("/api/still/quote", { as, method: "POST", headers, body });
    }),
  // Methods and addresses that no route has.
  fc
    .tuple(
      as,
      fc.constantFrom("GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"),
      fc.constantFrom(
        ...words(`
        /api/runs/ID/../../x /api//runs/ID /api/runs/ID/ /api/runs/ID;x /api/runs/ID%2fevents /API/runs/ID
        /api/still/../runs/ID /api/media/ID/x.png?type=x&ends=99999999999999&mark=x /api/runs/ID/events?after=-1
      `),
      ),
    )
    .map(([as, method, path]) => {
      return () => api.send(path.replace("ID", victim.id), { as, method });
    }),
);

const ATTACKS = isFull ? 20_000 : 1_500;

test(`of ${ATTACKS} attacks of hostile callers none learns a word, a file or an address of others, or spends beyond its budget`, async () => {
  const before = globSync("*", { cwd: world.folder }).toSorted();
  await fc.assert(
    fc.asyncProperty(attacks, async (attack) => {
      const responses = [await attack()].flat();
      for (const response of responses) {
        if (response.headers.get("Content-Type")?.startsWith("text/event-stream")) {
          await response.body?.cancel();
          throw new Error("a stream was opened");
        }
        const said = `${response.status} ${await response.text()} ${[...response.headers].join(" ")}`;
        const own = [world.folder, process.cwd(), world.service.baseUrl, world.service.apiKey];
        const others = [victim.id, victim.waits, ...words("postgres: sk-abc ENOENT node_modules SQLITE")];
        expectAbsent(said, [...own, ...others]);
        if (response.status >= 500) expect(said).toMatch(/"code":"(?:INTERNAL|CALLER)"/);
      }
    }),
    { numRuns: ATTACKS, seed: 47 },
  );
  const strange = api.defects
    .map(String)
    .filter((defect) => !/postgres:|pw@db|sk-abc|could not plan a pipeline/.test(defect));
  expect(strange).toEqual([]);
  expect(globSync("*", { cwd: world.folder }).toSorted()).toEqual(before);
  for (const { runId, tags } of await world.show.runs({ limit: 1_000 })) {
    if (tags.customer === "victim") continue;
    await world.show.follow(runId).then((handle) => handle.result());
    const { spentMicros, heldMicros } = await world.show.spending({ tag: `customer=${tags.customer}` });
    expect(spentMicros + heldMicros).toBeLessThanOrEqual(500_000);
  }
  const theirs = (await world.show.runs({ tags: { customer: "victim" } })).map(({ runId }) => runId);
  expect(theirs.toSorted()).toEqual([victim.id, victim.waits].toSorted());
}, 300_000);
