import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createMemoryJournal, type OpenOptions, openShowrunner, type RunOptions } from "../../../src/index.ts";
import { checkedCaller } from "../../../src/studio/handler/callers.ts";
import { builtInCatalog } from "../../support/built-in-catalog.ts";
import { during, FakePaidService, models, newFolder, openFakeShow, pipelineOf, stepOf } from "../../support/engine.ts";

const gated = pipelineOf("gated", ({ job, approve }) => {
  const still = job("still", models.image, { prompt: "a quay" });
  return { film: job("film", models.image, { prompt: "closer", images: [approve("ok", still)] }) };
});

const invalid = (option: string) => ({ code: "INVALID_OPTION", option, message: expect.not.stringContaining("  ") });
const untyped = <T>(value: unknown) => value as T;

test.each([
  ["leaseMs", [0, -5, 999, 1500.5, 3_600_001, Number.NaN, Number.POSITIVE_INFINITY, "30000", null]],
  ["idempotencyWindowMs", [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, "1000", null]],
  ["follow", ["nope", 1, null]],
  ["spendingCap", [5, 5n, Number.NaN, null, true]],
  ["walletFloor", [5]],
  ["caps", [[5], [{}], [{ usd: 5 }], [{ per: "day" }]]],
])("openShowrunner refuses a %s that cannot be used", async (option, values) => {
  for (const value of values) {
    const options = { journal: createMemoryJournal(), local: true, env: {}, journalOnly: true, [option]: value };
    const opened = openShowrunner(untyped<OpenOptions>(options));
    await expect(opened, String(value)).rejects.toMatchObject(invalid(option));
  }
});

test.each([
  ["leaseMs", [1_000, 3_600_000, undefined]],
  ["idempotencyWindowMs", [1, undefined]],
])("openShowrunner takes every usable %s", async (option, values) => {
  for (const value of values) {
    const show = await openShowrunner({
      ...{ journal: createMemoryJournal(), mediaDir: newFolder() },
      ...{ env: {}, local: true, journalOnly: true, [option]: value },
    });
    await show.close();
  }
});

test.each([
  ["giveUpAfterMs", [Number.NaN, -1, "5", null]],
  ["waitForCapMs", [Number.NaN, -1, "5"]],
  ["budget", [5, null]],
  ["maxUnquoted", [5]],
  ["onExisting", ["nope"]],
  ["title", [5]],
])("run refuses a %s that cannot be used, and stores nothing", async (option, values) => {
  const { show, outDir } = await openFakeShow();
  for (const value of values) {
    const options = untyped<RunOptions>({ id: "x", outDir, [option]: value });
    await expect(show.run(gated, {}, options), String(value)).rejects.toMatchObject(invalid(option));
    await expect(show.start(gated, {}, options), String(value)).rejects.toMatchObject(invalid(option));
  }
  expect(await show.runs()).toEqual([]);
});

test("a caller's budget that is a number is refused with what to write", () => {
  expect(() => checkedCaller({ tags: { customer: "a" }, budget: untyped<string>(5) })).toThrow(
    'budget: `authorize` returned 5; use dollars, such as "0.25".',
  );
});

test("a slice refuses a maxMs that cannot be used", async () => {
  const { show, outDir } = await openFakeShow();
  await show.start(gated, {}, { id: "x", outDir });
  for (const maxMs of [Number.NaN, -1, untyped<number>("5")])
    await expect(show.engine.slice("x", { maxMs }), String(maxMs)).rejects.toMatchObject(invalid("maxMs"));
});

async function waiting() {
  const life = await openFakeShow();
  await life.run(gated);
  return life;
}

test("what people say is checked before it is sent to the run", async () => {
  const { show, journal, clock } = await waiting();
  type Words = Record<string, unknown>;
  const calls: readonly (readonly [option: string, call: (words: Words) => Promise<unknown>, words: Words])[] = [
    ["note", (words) => show.approve("x", "ok", words), { note: 42 }],
    ["note", (words) => show.reject("x", "ok", words), { note: {} }],
    ["pick", (words) => show.approve("x", "ok", words), { pick: 9 }],
    ["pick", (words) => show.approve("x", "ok", words), { pick: 0 }],
    ...[5, null, {}, { name: 5 }].map(
      (by) => ["by.name", (words: Words) => show.approve("x", "ok", words), { by }] as const,
    ),
    ["by.verified", (words) => show.reject("x", "ok", words), { by: { name: "Ada", verified: "yes" } }],
    ["by.link", (words) => show.reject("x", "ok", words), { by: { name: "Ada", link: 5 } }],
    ["reason", (words) => show.stop("x", words), { reason: 5 }],
    ["note", (words) => show.resume("x", words), { note: 5, rerun: ["still"] }],
    ["waitForFundsMs", (words) => show.resume("x", words), { waitForFundsMs: Number.NaN }],
    ["budget", (words) => show.resume("x", words).then((run) => during(clock, run.result())), { budget: 5 }],
    ["olderThanMs", (words) => show.gc(words), { olderThanMs: -1 }],
    ...[
      { text: 5 },
      { text: undefined },
      { text: " " },
      ...[5, "still", { step: "still" }, { step: 5, index: 0 }, { step: "still", index: -1 }].map((take) => ({ take })),
      ...[Number.NaN, -5, "5", Number.POSITIVE_INFINITY].map((timeMs) => ({ timeMs })),
    ].map((words) => {
      const say = (said: Words) => show.comment("x", "ok", untyped({ text: "nice", ...said }));
      return [Object.keys(words)[0]!, say, words] as const;
    }),
  ];
  for (const [option, call, words] of calls) {
    await expect(call(words), JSON.stringify(words)).rejects.toMatchObject(invalid(option));
  }
  expect(await journal.inbox("x")).toEqual([]);
});

test("a note that an earlier version stored as a number does not stop the run", async () => {
  const { journal, clock, resume } = await waiting();
  await journal.send("x", { type: "approve", step: "ok", note: untyped<string>(42) }, clock.now());
  const result = await resume();
  expect([result.status, stepOf(result, "ok").approval?.note]).toEqual(["succeeded", "42"]);
});

const HOSTED = { SHOWRUNNER_BASE_URL: "https://media.test/v3" };

test.each<[string, OpenOptions]>([
  ["the local service", { env: {} }],
  ["a service of the environment", { env: { ...HOSTED, SHOWRUNNER_API_KEY: "key_1:secret" } }],
  ["a service without a key", { env: HOSTED }],
  ["a client", { client: new FakePaidService({ catalog: builtInCatalog() }).client() }],
])("with journalOnly and %s, runs can be read and decided, and nothing is sent", async (_, options) => {
  const { journal, mediaDir } = await waiting();
  const show = await openShowrunner({ ...options, journal, mediaDir, journalOnly: true, notify: false });
  expect((await show.show("x")).status).toBe("paused");
  await show.approve("x", "ok");
  const refused = invalid("journalOnly");
  await expect(show.run(gated, {}, { id: "y" })).rejects.toMatchObject(refused);
  await expect(show.resume("x")).rejects.toMatchObject({ code: "INVALID_OPTION" });
  await expect(show.balance()).rejects.toMatchObject(refused);
  if (options.env !== undefined && "SHOWRUNNER_BASE_URL" in options.env)
    expect(show.service).toMatchObject({ kind: "hosted", baseUrl: HOSTED.SHOWRUNNER_BASE_URL });
  expect((await show.runs()).map(({ runId }) => runId)).toEqual(["x"]);
  await show.close();
});

test("the journal of `env` is used, and an empty variable names none", async () => {
  const folder = newFolder();
  const opened = async (env: Record<string, string>) => {
    const show = await openShowrunner({ env, local: true, journalOnly: true, notify: false });
    await show.close();
  };
  await opened({ SHOWRUNNER_JOURNAL: join(folder, "own.db") });
  expect(existsSync(join(folder, "own.db"))).toBe(true);
  const before = process.cwd();
  process.chdir(folder);
  try {
    await opened({ SHOWRUNNER_JOURNAL: "" });
  } finally {
    process.chdir(before);
  }
  expect(existsSync(join(folder, ".showrunner/journal.db"))).toBe(true);
});
