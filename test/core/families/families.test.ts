import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { runCli } from "../../../src/cli/program.ts";
import { writeSnapshot } from "../../../src/core/catalog/index.ts";
import { ExpectedDurations } from "../../../src/core/engine/price/expected.ts";
import { builtInFamilies, FamiliesError, type FamilyInput, readFamilies } from "../../../src/core/families/index.ts";
import { createMemoryJournal, openShowrunner, PlanProblemsError, pipeline } from "../../../src/index.ts";
import { LocalServiceError, startLocalService } from "../../../src/local-service/index.ts";
import { fakeIo } from "../../cli/support/fake-io.ts";
import { ask, made, start } from "../../local-service/support/service.ts";
import { migrateBodies } from "../../migrate/support/migrate-one.ts";
import { job } from "../run/support/plans.ts";
import { catalogWith, entryOf, film, WORDS_ONLY } from "./support.ts";

const folder = mkdtempSync(join(tmpdir(), "families-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(value: unknown, name = "families.json"): string {
  const path = join(folder, name);
  writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value));
  return path;
}

describe("a family is recognised by the id of a model", () => {
  test.each([
    ["kling-3", "kling-3"],
    ["fal/kling-3.0-pro-i2v", "kling-3"],
    ["kling-30-standard", "kling-3"],
    ["kling-26", "kling"],
    ["kling-25-turbo", "kling"],
    ["kling-3-omni", null],
    ["nano-banana-pro", "nano-banana-pro"],
    ["nano-banana-2", "nano-banana"],
    ["flux-1-schnell", "flux-schnell"],
    ["video-1", null],
    ["", null],
  ])("%s is of %s", (id, name) => {
    expect(builtInFamilies.of(id)?.name ?? null).toBe(name);
  });

  test("what names more of a model decides, whichever comes first", () => {
    const own = [
      { name: "reel-pro", models: ["reel-2-pro"] },
      { name: "reel", models: ["reel"] },
    ];
    const families = readFamilies(own);
    expect([families.of("reel-2-pro")?.name, families.of("reel-2-lite")?.name]).toEqual(["reel-pro", "reel"]);
  });

  test("an entry replaces what it names of a built-in family and leaves the rest", () => {
    const changed = readFamilies([{ name: "kling-3", typical_seconds: 9 }]).of("kling-3");
    expect(changed).toEqual({ ...builtInFamilies.of("kling-3"), typicalMs: 9000 });
    expect(readFamilies([{ name: "kling-3", rules: [] }]).of("kling-3")).toMatchObject({
      rules: [],
      typicalMs: 150_000,
    });
  });
});

const rule = { kind: "requires", fields: ["a"], message: "give it" };

test("the example of the docs is a file of families", () => {
  const docs = readFileSync(join(import.meta.dirname, "../../../docs/model-families.md"), "utf8");
  const [, example = ""] = /```json\n(.*?)```/s.exec(docs) ?? [];
  const families = readFamilies(file(example, "docs.json"));
  expect(families.of("reel-2-pro")).toMatchObject({ name: "reel-2", typicalMs: 90_000 });
  expect(families.of("kling-26")?.rules).toEqual([]);
});

describe("a file of families that is none", () => {
  test.each([
    ["no list", { name: "x" }, "(the list): Invalid input: expected array"],
    ["a family without a name", [{ models: ["a"] }], "[0].name: "],
    [
      "a new family without models",
      [{ name: "reel" }],
      "[0].models is missing, and reel is not a built-in family; list the family's model ids, or use a built-in name: ",
    ],
    [
      "a model that names no family",
      [{ name: "x", models: ["pro"] }],
      "[0].models[0]: names no family; write it like a model id",
    ],
    [
      "the same name twice",
      [{ name: "kling" }, { name: "kling" }],
      "[1].name: the name kling occurs twice; merge the two entries",
    ],
    ["an unknown member", [{ name: "kling", rule: [] }], '[0]: Unrecognized key: "rule"'],
    [
      "an unknown kind of rule",
      [{ name: "kling", rules: [{ ...rule, kind: "needs" }] }],
      "[0].rules[0].kind: Invalid discriminator value. Expected 'requires' | 'forbids' | 'one_of' | 'values' | 'max_sum'",
    ],
    [
      "a rule without a message",
      [{ name: "kling", rules: [rule, { ...rule, message: "" }] }],
      "[0].rules[1].message: ",
    ],
    ["a choice of one", [{ name: "kling", rules: [{ ...rule, kind: "one_of" }] }], "[0].rules[0].fields: "],
    [
      "a sum without a bound",
      [{ name: "kling", rules: [{ kind: "max_sum", field: "a", of: "b", message: "x" }] }],
      "[0].rules[0].max: ",
    ],
    ["a price below nothing", [{ name: "kling", prices: [{ usd: -1, per: "job" }] }], "[0].prices[0].usd: "],
    [
      "a price of an unknown unit",
      [{ name: "kling", prices: [{ usd: 1, per: "frame" }] }],
      '[0].prices[0].per: Invalid option: expected one of "job"|"second"|"image"|"1000_characters"',
    ],
    ["a duration of nothing", [{ name: "kling", typical_seconds: 0 }], "[0].typical_seconds: "],
    ["no JSON", "{", "The model families in "],
  ])("%s is told with its place", (_what, value, said) => {
    const path = file(value, "wrong.json");
    const error = catching(() => readFamilies(path));
    expect(error).toBeInstanceOf(FamiliesError);
    expect((error as Error).message).toContain(path);
    expect((error as Error).message).toContain(said);
  });

  test("all mistakes of it are told at once", () => {
    const error = catching(() => readFamilies([{ name: "", models: [] }, { name: 5 }] as never)) as Error;
    expect(error.message.split("\n").length).toBe(4);
  });

  test("one that is not there, or a device, is told with what to give", () => {
    expect(() => readFamilies("/nowhere/families.json")).toThrow(
      /\/nowhere\/families\.json cannot be read .*use a JSON file/,
    );
    expect(() => readFamilies("/dev/zero")).toThrow("it is a device, not a file");
  });

  test("stops a local service, a Showrunner and every command before any request", async () => {
    const families = file([{ name: "kling", rule: [] }], "stops.json");
    await expect(startLocalService({ families })).rejects.toBeInstanceOf(LocalServiceError);
    await expect(startLocalService({ families })).rejects.toMatchObject({ code: "FAMILIES_INVALID" });
    await expect(openShowrunner({ families, journal: createMemoryJournal() })).rejects.toBeInstanceOf(FamiliesError);
    for (const args of [
      ["serve", "--port", "0"],
      ["migrate", file([], "v2.json"), "--out", "out"],
    ]) {
      const { io, stderr } = fakeIo({ cwd: folder });
      expect(await runCli([...args, "--families", families], io)).toBe(2);
      expect(stderr()).toContain('[0]: Unrecognized key: "rule"');
      expect(stderr()).toContain("Next: correct the file set by --families");
    }
    const { io, stderr } = fakeIo({ cwd: folder, env: { SHOWRUNNER_FAMILIES: "stops.json" } });
    expect(await runCli(["serve", "--port", "0"], io)).toBe(2);
    expect(stderr()).toContain('[0]: Unrecognized key: "rule"');
    const env = { SHOWRUNNER_FAMILIES: families };
    await expect(openShowrunner({ env, journal: createMemoryJournal() })).rejects.toBeInstanceOf(FamiliesError);
  });
});

function catching(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

const reel: FamilyInput = {
  name: "reel",
  models: ["reel"],
  rules: [{ kind: "forbids", when: { field: "cfg_scale" }, fields: ["negative_prompt"], message: "leave one out" }],
  prices: [
    { when: { field: "resolution", is: ["4k"] }, usd: 0.5, per: "second" },
    { usd: 0.2, per: "second" },
  ],
  typical_seconds: 600,
};

describe("what a file says of a family", () => {
  test.each([
    ["second", film, 1],
    ["second", { ...film, resolution: "4K" }, 2.5],
    ["job", film, 0.2],
    ["image", film, 0.2],
    ["1000_characters", { ...film, prompt: "x".repeat(500) }, 0.1],
  ] as const)("is the price by the %s where the catalog has none", async (per, input, cost) => {
    const prices = reel.prices!.map((price) => ({ ...price, per }));
    const service = await start({ catalog: [entryOf("reel-2")], families: [{ ...reel, prices }] });
    const { body } = await ask(service, "POST", "/models/reel-2/estimate", { body: { input } });
    expect(body.cost).toBe(cost);
  });

  test("gives way to the price of the catalog", async () => {
    const service = await start({ catalog: [{ ...entryOf("reel-2"), x_local: { price_usd: 3 } }], families: [reel] });
    expect((await made(service, "reel-2", { ...film, prompt: "x" })).cost).toBe(3);
  });

  test("is how long a job of the local service takes, before the speed", async () => {
    const service = await start({ catalog: [entryOf("reel-2"), entryOf("other")], families: [reel], speed: 10 });
    service.clock.manual();
    const submitted = async (model: string) => {
      const { body } = await ask(service, "POST", `/models/${model}`, { body: { input: { ...film, prompt: "x" } } });
      return body.job_id as string;
    };
    const [slow, quick] = [await submitted("reel-2"), await submitted("other")];
    const status = async (id: string) => (await ask(service, "GET", `/jobs/${id}/status`)).body.status;
    await service.clock.advance(59_000);
    await expect.poll(() => status(quick), { timeout: 20_000 }).toBe("COMPLETED");
    expect(await status(slow)).toBe("IN_PROGRESS");
    await service.clock.advance(2_000);
    await expect.poll(() => status(slow), { timeout: 20_000 }).toBe("COMPLETED");
  });

  test("is how long a plan expects a job to take, until runs have measured it", async () => {
    const step = { ...job("film"), model: "reel-2", yields: "video" } as const;
    const row = { runId: "r", account: "a", step: "s", fingerprint: "f", at: 1, model: "reel-2", tookMs: 7 };
    const durations = async (families = readFamilies([reel]), past = [] as (typeof row)[]) => {
      const made = new ExpectedDurations({
        store: { results: async () => past },
        account: "a",
        families,
        now: () => 0,
      });
      await made.load([step]);
      return made;
    };
    expect((await durations()).expectedMs(step)).toBe(600_000);
    expect((await durations(builtInFamilies)).expectedMs(step)).toBe(90_000);
    expect((await durations(readFamilies([reel]), [row])).expectedMs(step)).toBe(7);
  });

  test("is held against plans, quotes and runs of the library, before anything is sent", async () => {
    const service = await start({ catalog: [entryOf("reel-2")] });
    const wrong = pipeline("p", {
      input: z.object({}),
      build: ({ job }) => ({ x: job("x", "reel-2", { ...film, prompt: "x", cfg_scale: 1, negative_prompt: "y" }) }),
    });
    const open = (families?: readonly FamilyInput[]) =>
      openShowrunner({
        ...{ baseUrl: service.baseUrl, apiKey: service.apiKey, journal: createMemoryJournal(), families },
        mediaDir: join(folder, "media"),
      });
    const show = await open([reel]);
    expect(await show.plan(wrong, {})).toMatchObject({ problems: [{ step: "x", field: "input.negative_prompt" }] });
    expect(await show.quote(wrong, {})).toMatchObject({ ok: false, prices: [] });
    await expect(show.run(wrong, {})).rejects.toBeInstanceOf(PlanProblemsError);
    await show.close();
    const other = await open();
    expect(await other.plan(wrong, {})).toMatchObject({ ok: true });
    await other.close();
    expect(service.stats().jobs_created).toBe(0);
  });

  test("is told by plan --families, with step and field and that it is ours", async () => {
    const service = await start({ catalog: [entryOf("reel-2")] });
    writeFileSync(
      join(folder, "p.ts"),
      `import { pipeline } from "showrunner"; import { z } from "zod"; export default pipeline("p", { input: z.object({}), build: ({ job }) => ({ x: job("x", "reel-2", { aspect_ratio: "16:9", duration_ms: 5000, prompt: "x", cfg_scale: 1, negative_prompt: "y" }) }) });`,
    );
    const env = { SHOWRUNNER_BASE_URL: service.baseUrl, SHOWRUNNER_API_KEY: service.apiKey };
    Object.assign(process.env, env);
    const { io, stderr } = fakeIo({ cwd: folder, env });
    const code = await runCli(["plan", "p.ts", "--journal", join(folder, "j.db"), "--families", file([reel])], io);
    for (const name of Object.keys(env)) delete process.env[name];
    expect(code).toBe(2);
    expect(stderr()).toContain("input.negative_prompt");
    expect(stderr()).toContain("leave one out (a rule known to Showrunner but not stated in the service's schema)");
  });

  test("is respected by a migration: shots that last too long together are a decision, and a tier is found", async () => {
    const catalog = catalogWith([entryOf("kling-3")]);
    const inputs = { text_prompt: "waves", aspect_ratio: "16:9", duration_ms: 5000 };
    const shots = [9000, 8000].map((duration_ms) => ({ prompt: "x", duration_ms }));
    const body = (more: object) => ({
      type: "video",
      model_slug: "fal/kling-3-pro-t2v",
      generated_video_inputs: { ...inputs, ...more },
    });
    const { steps, field } = migrateBodies([body({ multi_prompt: shots })], { catalog });
    expect(steps["video-1"]).toMatchObject({ prompt: "waves", quality: "pro", resolution: "1080p" });
    expect(field("generated_video_inputs.multi_prompt")).toMatchObject({
      outcome: "decision",
      why: expect.stringContaining("the shots last 17000 ms; kling-3 accepts at most 15000"),
    });
    const off = catalogWith([entryOf("kling-3")], [{ name: "kling-3", rules: [] }]);
    expect(migrateBodies([body({ multi_prompt: shots })], { catalog: off }).steps["video-1"]).toHaveProperty(
      "multi_prompt",
    );
  });

  test("prices a migration that has nothing but a catalog", async () => {
    const catalog = join(folder, "catalog.json");
    await writeSnapshot(catalog, catalogWith([entryOf("reel-2", WORDS_ONLY)]));
    const v2 = file(
      [
        {
          type: "video",
          model_slug: "x/reel-2",
          generated_video_inputs: { text_prompt: "a", aspect_ratio: "16:9", duration_ms: 5000 },
        },
      ],
      "v2.json",
    );
    const { io, stderr } = fakeIo({ cwd: folder });
    const args = ["migrate", v2, "--out", "out", "--catalog", catalog, "--families", file([reel])];
    expect(await runCli(args, io)).toBe(0);
    expect(stderr()).toContain("Price: $1");
  });
});
