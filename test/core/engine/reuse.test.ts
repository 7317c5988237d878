import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { DownloadError } from "../../../src/core/api/index.ts";
import { plainWav } from "../../../src/core/kit/placeholder-media.ts";
import { openShowrunner, pipeline, type RunResult } from "../../../src/index.ts";
import { startLocalService } from "../../../src/local-service/index.ts";
import { CrashInjector } from "../../../src/testing/crash-injector.ts";
import { during, type FakeShow, models, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { apiError, FakePaidService, OUTPUT_BYTES } from "../../support/fake-paid-service.ts";
import { isFull } from "../../support/sample.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { localCalls, runDecided, STORY } from "./fixtures/every-kind.ts";

/** a → b → d, and c beside them; b can be asked for otherwise. */
const input = z.object({ a: z.string().default("a"), b: z.string().default("b"), c: z.string().default("c") });
const chain = pipeline("chain", {
  input,
  build({ input, job }) {
    const a = job("a", models.image, { prompt: input.a });
    const b = job("b", models.image, { prompt: input.b, images: [a] });
    const c = job("c", models.image, { prompt: input.c });
    const d = job("d", models.image, { prompt: "d", images: [b] });
    return { d, c };
  },
});

/** A world in which the chain was made once. */
async function madeOnce(options: Parameters<typeof openFakeShow>[0] = {}): Promise<FakeShow> {
  const world = await openFakeShow(options);
  await world.run(chain, {}, { id: "one" });
  return world;
}

async function reusedSteps(world: FakeShow, runId: string): Promise<string[]> {
  const steps: string[] = [];
  for await (const { event } of world.show.events(runId)) if (event.type === "step.reused") steps.push(event.step);
  return steps.sort();
}

describe("with reuse, a run", () => {
  test("is priced at what is left to make, and shows what it takes over from where", async () => {
    const world = await madeOnce();
    const quote = await world.show.quote(chain, { b: "another" }, { reuse: true });
    expect(quote.totalMicros).toEqual({ min: 200_000, max: 200_000 });
    const basis = Object.fromEntries(quote.prices.map((price) => [price.step, price.basis]));
    // The price of b is exact: what it takes in exists.
    expect(basis).toEqual({ a: "reused", b: "quoted", c: "reused", d: "provisional" });
    expect(quote.prices[0]).toMatchObject({ costMicros: 0, reason: "made by a of run one" });
    expect(quote.prices.map(({ anew }) => anew ?? null)).toEqual([
      null,
      "no earlier run on this account made an identical request",
      null,
      "d uses b, which has not been produced yet",
    ]);
    expect((await world.show.quote(chain, { b: "another" })).totalMicros.max).toBe(400_000);
  });

  test("fits a budget that only covers what is left to make", async () => {
    const world = await madeOnce();
    const result = await world.run(chain, { b: "another" }, { id: "two", reuse: true, budget: "0.20" });
    expect([result.status, result.cost.micros]).toEqual(["succeeded", 200_000]);
    expect(await reusedSteps(world, "two")).toEqual(["a", "c"]);
  });

  test("reuses a reused result, also when the first run was removed", async () => {
    const world = await madeOnce();
    await world.run(chain, {}, { id: "two", reuse: true });
    await world.journal.removeRun("one", world.clock.now());
    await world.run(chain, {}, { id: "three", reuse: true });
    expect(world.paidService.jobs.size).toBe(4);
    for await (const { event } of world.show.events("three")) {
      if (event.type === "step.reused") expect(event.from.runId).toBe("one");
    }
  });

  test("finds the same under another name and in another pipeline", async () => {
    const world = await madeOnce();
    const other = pipelineOf("other", ({ job }) => ({ picture: job("picture", models.image, { prompt: "c" }) }));
    const result = await world.run(other, {}, { id: "two", reuse: true });
    expect([result.cost.micros, world.paidService.jobs.size]).toEqual([0, 4]);
  });
});

describe("a run makes a step itself", () => {
  test("when reuse is off", async () => {
    const world = await madeOnce();
    await world.run(chain, {}, { id: "two" });
    expect(world.paidService.jobs.size).toBe(8);
    expect(await reusedSteps(world, "two")).toEqual([]);
  });

  test("when the earlier one failed, and what used that one", async () => {
    let isBroken = true;
    const fails = (_: string, body: string) =>
      isBroken && body.includes('"b"') ? { code: "INVALID_ARGUMENT", retryable: false } : null;
    const world = await openFakeShow({ fails });
    expect((await world.run(chain, {}, { id: "one" })).status).toBe("partial");
    isBroken = false;
    const second = await world.run(chain, {}, { id: "two", reuse: true });
    expect(second.status).toBe("succeeded");
    expect(await reusedSteps(world, "two")).toEqual(["a", "c"]);
  });

  test("when it belongs to another account", async () => {
    const world = await madeOnce();
    const stranger = new FakePaidService();
    const client = Object.assign(stranger.client(), { keyId: "stranger" });
    const paidService = Object.assign(stranger, { client: () => client });
    const other = await openFakeShow({ paidService, journal: world.journal });
    await other.run(chain, {}, { id: "two", reuse: true });
    expect(stranger.jobs.size).toBe(4);
    expect(await reusedSteps(other, "two")).toEqual([]);
  });

  test("when its only copy was removed and its asset is too old", async () => {
    const world = await madeOnce();
    for (const name of readdirSync(world.mediaDir).filter((name) => name !== "tmp")) {
      rmSync(join(world.mediaDir, name), { recursive: true });
    }
    expect((await world.show.quote(chain, {}, { reuse: true })).totalMicros.max).toBe(0);
    await world.clock.advance(24 * 3_600_000);
    expect((await world.show.quote(chain, {}, { reuse: true })).totalMicros.max).toBe(400_000);
    await world.run(chain, {}, { id: "two", reuse: true });
    expect(world.paidService.jobs.size).toBe(8);
  });
});

describe("a reused result", () => {
  test("is uploaded from its local copy once the asset expired on the service", async () => {
    const world = await madeOnce();
    await world.clock.advance(48 * 3_600_000);
    const second = await world.run(chain, { b: "another" }, { id: "two", reuse: true });
    expect(second.status).toBe("succeeded");
    expect(await reusedSteps(world, "two")).toEqual(["a", "c"]);
    const sent = [...world.paidService.jobs.values()].map(({ body }) => body).find((body) => body.includes("another"));
    expect(sent).toContain("https://paper.test/files/");
  });

  test("that the service keeps no longer, and of which there is no copy, is priced anew", async () => {
    const service = await startLocalService({ renderer: "stub", retentionMs: 25_000 });
    const folder = newFolder();
    const { baseUrl, apiKey } = service;
    const show = await openShowrunner({ baseUrl, apiKey, journal: join(folder, "journal.db") });
    try {
      const filmed = pipeline("filmed", {
        input: z.object({ p: z.string() }),
        build({ input, job }) {
          const still = job("still", models.image, { prompt: "a still" }, { keep: false });
          return { film: job("film", models.image, { prompt: input.p, images: [still] }) };
        },
      });
      const run = await show.run(filmed, { p: "walks" }, { outDir: join(folder, "out") });
      expect((await run.result()).status).toBe("succeeded");
      await service.clock.advance(32_000);
      const quote = await show.quote(filmed, { p: "jumps" }, { reuse: true });
      expect(quote.problems).toEqual([]);
      expect(quote.prices.map(({ step, basis }) => `${step} ${basis}`)).toEqual(["still quoted", "film provisional"]);
      expect(quote.prices[0]?.anew).toContain("expired on the service and no copy is left");
    } finally {
      await show.close();
      await service.close();
    }
  });

  test("is read from the service where there is no local copy, and copied where one is needed now", async () => {
    const world = await openFakeShow();
    const one = (keep: boolean) =>
      pipelineOf("one", ({ job }) => ({ picture: job("picture", models.image, { prompt: "p" }, { keep }) }));
    await world.run(one(false), {}, { id: "one" });
    const result = await world.run(one(true), {}, { id: "two", reuse: true });
    expect(world.paidService.jobs.size).toBe(1);
    expect(readFileSync((result.outputs as { picture: { path: string } }).picture.path)).toHaveLength(OUTPUT_BYTES);
  });

  test("without a copy does not block its dependents when a copy is needed later", async () => {
    const world = await openFakeShow();
    const { show, paidService } = world;
    const approved = (keep: boolean) =>
      pipelineOf("approved", ({ job, approve }) => {
        const face = approve("good", job("face", models.image, { prompt: "a face" }, { keep }));
        return { poster: job("poster", models.image, { prompt: "a poster", images: [face] }) };
      });
    await world.run(approved(false), {}, { id: "one" });
    expect((await world.run(approved(false), {}, { id: "two", reuse: true })).status).toBe("paused");
    expect(await reusedSteps(world, "two")).toEqual(["face"]);
    await show.approve("two", "good");
    expect((await world.resume({ id: "two", pipeline: approved(true), acceptChanges: true })).status).toBe("succeeded");
    expect(paidService.jobs.size).toBe(2);
  });

  test("is the same after a crash anywhere, with nothing produced twice", async () => {
    const paidService = new FakePaidService();
    const base = await madeOnce({ paidService });
    for (let dieAt = 1, reached = true; reached; dieAt += isFull ? 1 : 5) {
      const crashInjector = new CrashInjector(dieAt);
      const id = `run-${dieAt}`;
      const { mediaDir } = base;
      const dying = await openFakeShow({ paidService, journal: crashInjector.store(base.journal), mediaDir });
      const started = dying.show
        .run(chain, { b: `b${dieAt}` }, { id, reuse: true, outDir: dying.outDir })
        .then((handle) => handle.result());
      await during(dying.clock, Promise.race([started, crashInjector.died]));
      reached = crashInjector.count >= dieAt;
      if (!reached || (await base.journal.run(id)) === null) continue;
      const journal = new CrashInjector(Number.POSITIVE_INFINITY).store(base.journal);
      const heir = await openFakeShow({ paidService, journal, mediaDir });
      const result = await heir.resume({ id });
      expect(result.status).toBe("succeeded");
      const made = [...paidService.jobs.values()].filter(({ body }) => body.includes(`"b${dieAt}"`));
      expect(made).toHaveLength(1);
    }
    expect([...paidService.jobs.values()].filter(({ body }) => body === '{"prompt":"a"}')).toHaveLength(1);
  });
});

test("runs exactly the steps whose request or consumed results never occurred before", async () => {
  const word = fc.constantFrom("x", "y", "z");
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ a: word, b: word, c: word }), { minLength: 1, maxLength: 4 }),
      async (inputs) => {
        const world = await openFakeShow();
        const made = new Set<string>();
        for (const [index, given] of inputs.entries()) {
          const wanted = [`a ${given.a}`, `b ${given.a} ${given.b}`, `a ${given.c}`, `d ${given.a} ${given.b}`];
          // a and c ask for the same where their words are equal: as often as that was made before, it is there.
          const before = world.paidService.jobs.size;
          await world.run(chain, given, { id: `run-${index}`, reuse: true });
          const fresh = new Set(wanted.filter((one) => !made.has(one)));
          const twice = given.a === given.c && !made.has(`twice ${given.a}`) ? 1 : 0;
          const expected = fresh.size + twice;
          expect(world.paidService.jobs.size - before).toBe(expected);
          for (const one of wanted) made.add(one);
          if (given.a === given.c) made.add(`twice ${given.a}`);
        }
      },
    ),
    { numRuns: isFull ? 100 : 4 },
  );
});

describe("of every kind of step, a second run", () => {
  test("submits nothing, calls no chat model and no function with a cached result, and has the same files", async () => {
    const world = await openFakeShow({ says: () => STORY });
    const sample = join(world.mediaDir, "..", "sample.wav");
    writeFileSync(sample, plainWav(50));
    const first = await runDecided(world, { sample }, { id: "one" }, { pick: 0 });
    expect(first.status).toBe("succeeded");
    const { jobs, chats } = world.paidService;
    const before = { jobs: jobs.size, chats: chats.size };
    localCalls.counts.clear();
    const second = await runDecided(world, { sample }, { id: "two", reuse: true }, { pick: 0 });
    expect(second.status).toBe("succeeded");
    expect({ jobs: jobs.size, chats: chats.size }).toEqual(before);
    expect(second.cost.micros).toBe(0);
    // A choice is made in every run; tasks are not repeated.
    expect([...localCalls.counts.keys()]).toEqual(["look/pick"]);
    const files = (result: RunResult) =>
      result.report.steps.flatMap(({ outputs }) =>
        outputs.flatMap(({ file, sha256 }) => (file ? [[file, sha256]] : [])),
      );
    expect(files(second)).toEqual(files(first));
    for (const step of second.report.steps) {
      const isMade = ["job", "chat", "task", "generate"].includes(step.kind) && step.status === "succeeded";
      expect(step.reused_from?.run ?? null, step.path).toBe(isMade ? "one" : null);
    }
  });
});

test("a rerun of a reused result is priced as a new job, and submitted", async () => {
  const world = await madeOnce();
  await world.run(chain, {}, { id: "two", reuse: true });
  const quote = await world.show.rerunQuote("two", ["b"]);
  expect(quote).toMatchObject({ stale: ["b", "d"], totalMicros: { min: 200_000, max: 200_000 } });
  const result = await world.resume({ id: "two", rerun: ["b"] });
  expect(result.status).toBe("succeeded");
  // b, and only b: its result is the same on paper, so that what uses it still stands.
  expect(world.paidService.jobs.size).toBe(5);
  expect(result.report.steps.map(({ reused_from }) => reused_from?.run ?? null)).toEqual(["one", null, "one", "one"]);
});

test.each(["expired", "not_found"])("an asset that the service calls %s goes back from its copy", async (reason) => {
  let isGone = false;
  const details = [{ field: "input.images[0]", reason, message: "gone", allowed: null }];
  const world = await openFakeShow({
    refuses: (_, asked) =>
      isGone && JSON.stringify(asked).includes("another") && JSON.stringify(asked).includes("asset_")
        ? apiError(400, "INVALID_ARGUMENT", { details })
        : null,
  });
  await world.run(chain, {}, { id: "one" });
  isGone = true;
  const result = await world.run(chain, { b: "another" }, { id: "two", reuse: true });
  expect(result.report.steps.slice(0, 2).map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
  const [a] = result.report.steps;
  expect(a).toMatchObject({ reused_from: { run: "one" }, outputs: [{ status: "EXPIRED" }] });
});

test("a copy that fails does not block its dependents: they consume the original", async () => {
  const world = await madeOnce();
  let fails = true;
  const { client } = world.show;
  const download = client.download.bind(client);
  Object.assign(client, {
    download: async (...args: Parameters<typeof download>) => {
      if (fails) throw new DownloadError("refused on paper", { reason: "expired", status: 403 });
      return download(...args);
    },
  });
  const { outDir } = world;
  const handle = await during(world.clock, world.show.run(chain, { a: "new" }, { id: "two", reuse: true, outDir }));
  const result = handle.result();
  while (world.paidService.jobs.size < 7) {
    await new Promise((resolve) => setImmediate(resolve));
    if (world.clock.pendingTimers > 0) await world.clock.advance(250);
  }
  expect(world.paidService.jobs.size).toBe(7);
  fails = false;
  expect((await during(world.clock, result)).status).toBe("succeeded");
  expect(await reusedSteps(world, "two")).toEqual(["c"]);
});

test("of many results of one request each is claimed once, however many there are", async () => {
  const world = await openFakeShow();
  const many = pipeline("many", {
    input: z.object({ count: z.number() }),
    build({ input, job }) {
      const all = Array.from({ length: input.count }, (_, i) => job(`m${i}`, models.image, { prompt: "same" }));
      return { first: all[0]! };
    },
  });
  await world.run(many, { count: 60 }, { id: "one", concurrency: 100, manifests: false });
  expect((await world.show.quote(many, { count: 63 }, { reuse: true })).totalMicros.max).toBe(300_000);
  await world.run(many, { count: 63 }, { id: "two", reuse: true, concurrency: 100, manifests: false });
  expect(world.paidService.jobs.size).toBe(63);
});
