import { describe, expect, test } from "vitest";
import { z } from "zod";
import { sleep } from "../../../src/core/api/index.ts";
import type { RunEvent } from "../../../src/core/journal/events.ts";
import { thisHolder } from "../../../src/core/journal/host.ts";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import { type JournalStore, pipeline, type RunOptions } from "../../../src/index.ts";
import { attemptsOf, during, type FakeShow, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

/** Ten pictures and a poster of the first; those whose prompt says so fail. */
const shop = pipeline("shop", {
  input: z.object({ colour: z.string().default("red"), size: z.string().transform((text) => text.length) }),
  build({ input, job }) {
    const still = (n: number) => job(`SKU-${n}.still`, models.image, { prompt: `${input.colour} shoe ${n}` });
    const stills = [1, 2, 3].map(still);
    const poster = job("poster", models.image, { prompt: `size ${input.size}`, images: [stills[0]!] });
    return { stills, poster };
  },
});

/** A world after a first run of the shop. What fails in it: the pictures whose request holds this text. */
async function shopWorld(failing: string | null = null) {
  let fails = failing !== null;
  const world = await openFakeShow({
    varies: true,
    fails: (_, body) => (fails && body.includes(failing!) ? { code: "RENDER_FAILED", retryable: false } : null),
  });
  const first = await world.run(shop, { size: "xx" });
  fails = false;
  return { ...world, first };
}

describe("resume with rerunFailed", () => {
  test("reruns what failed and its dependents, nothing else, at a price quoted before", async () => {
    const world = await shopWorld("shoe 1");
    const next = { command: "showrunner resume x --rerun-failed" };
    expect(world.first).toMatchObject({ status: "partial", report: { next } });
    const quote = await world.show.rerunQuote("x", [], { rerunFailed: true });
    expect([...quote.stale].sort()).toEqual(["SKU-1.still", "poster"]);
    const result = await world.resume({ rerunFailed: true });
    expect(result.status).toBe("succeeded");
    expect(attemptsOf(result)).toEqual({ "SKU-1.still": 2, "SKU-2.still": 1, "SKU-3.still": 1, poster: 1 });
  });

  test("says so when nothing failed", async () => {
    const world = await shopWorld();
    await expect(world.resume({ rerunFailed: true })).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining("no step of run"),
      next: "showrunner show x",
    });
  });

  test("requested twice under one id, it is applied once", async () => {
    const { paidService, resume } = await shopWorld("shoe 1");
    const how = { rerunFailed: true, requestId: "mend" };
    await resume(how);
    const before = paidService.jobs.size;
    await resume(how);
    expect(paidService.jobs.size).toBe(before);
  });
});

describe("resume with a pattern of step names", () => {
  test("makes the steps again that fit and are through", async () => {
    const world = await shopWorld();
    const result = await world.resume({ rerun: ["SKU-*.still"] });
    expect(attemptsOf(result)).toEqual({ "SKU-1.still": 2, "SKU-2.still": 2, "SKU-3.still": 2, poster: 2 });
  });

  test("refuses a pattern that no step fits, and names the command that lists them", async () => {
    const world = await shopWorld();
    await expect(world.resume({ rerun: ["HAT-*"] })).rejects.toMatchObject({
      message: expect.stringContaining("HAT-*: no step matches"),
      next: "showrunner show x",
    });
  });
});

describe("resume with a corrected input", () => {
  const blue = { pipeline: shop, input: { colour: "blue" } };

  test("is drift: priced, and applied only when accepted; transformed fields stay unchanged", async () => {
    const world = await shopWorld();
    const drift = await world.show.drift("x", shop, { input: blue.input });
    expect(drift.changed.map(({ path }) => path)).toEqual(["SKU-1.still", "SKU-2.still", "SKU-3.still"]);
    const before = world.paidService.jobs.size;
    const refused = await world.resume(blue);
    expect(refused.drift?.stale).toHaveLength(4);
    expect(world.paidService.jobs.size).toBe(before);
    const result = await world.resume({ ...blue, acceptChanges: true });
    expect(result.status).toBe("succeeded");
    expect(attemptsOf(result)).toEqual({ "SKU-1.still": 2, "SKU-2.still": 2, "SKU-3.still": 2, poster: 2 });
    const { prompts } = world.paidService;
    expect(prompts.filter((prompt) => prompt.includes("blue shoe"))).toHaveLength(3);
    expect(prompts.filter((prompt) => prompt.includes("size 2"))).toHaveLength(2);
  });

  test("holds from then on: the next resume compares with the corrected input", async () => {
    const world = await shopWorld();
    await world.resume({ ...blue, acceptChanges: true });
    expect(await world.show.drift("x", shop)).toMatchObject({ isSame: true });
  });

  test("that the schema refuses is told as a problem of that field", async () => {
    const world = await shopWorld();
    const wrong = { pipeline: shop, input: { colour: 7 }, acceptChanges: true };
    await expect(world.resume(wrong)).rejects.toMatchObject({
      code: "PLAN_PROBLEMS",
      problems: [expect.objectContaining({ field: "input.colour" })],
      message: expect.stringContaining("input.colour"),
    });
  });

  test("without the code is refused by the name of the option", async () => {
    const world = await shopWorld();
    await expect(world.resume({ input: { colour: "blue" } })).rejects.toMatchObject({ option: "input" });
  });
});

const scenes = (isMended: boolean) =>
  pipelineOf("scenes", ({ chat, expand, job }) => {
    const schema = z.object({ scenes: z.array(z.string()) });
    const story = chat("story", "chat-1", { prompt: "tell" }, { schema, maxCost: "0.01" });
    const shots = expand(
      "shots",
      story.at("scenes"),
      (all, words) => {
        if (!isMended) throw new Error("the builder is broken");
        return all.map((scene, index) => words.job(`shot-${index}`, models.image, { prompt: scene }));
      },
      { maxSteps: 5, yields: "image" },
    );
    const posters = [1, 2, 3].map((n) => job(`poster-${n}`, models.image, { prompt: `poster ${n}`, images: shots }));
    return { shots, posters };
  });

describe("an expansion whose function failed", () => {
  async function broken() {
    const says = () => JSON.stringify({ scenes: ["boats", "gulls"] });
    const world = await openFakeShow({ says, varies: true });
    return { ...world, first: await world.run(scenes(false)) };
  }

  test("is told once, with its step, the line of the user's file and what to do", async () => {
    const { first } = await broken();
    const next = { command: "showrunner resume x --file pipeline.ts" };
    expect(first).toMatchObject({ status: "failed", report: { next } });
    const told = first.report.steps.filter(({ reason }) => reason?.includes("the builder is broken"));
    const reason = /the builder is broken \(at .*going-on\.test\.ts:\d+:\d+\).*Fix the code and resume/;
    expect(told).toMatchObject([{ path: "shots", reason: expect.stringMatching(reason) }]);
  });

  test.each([
    ["compared with the run", {}],
    ["only asked for its functions", { compare: false }],
  ])("goes on with the mended code, %s, and nothing that was paid is paid again", async (_name, how) => {
    const world = await broken();
    const result = await world.resume({ pipeline: scenes(true), ...how });
    expect([result.status, world.paidService.chats.size]).toEqual(["succeeded", 1]);
    expect(attemptsOf(result)).toMatchObject({ story: 1, "shots/shot-0": 1, "shots/shot-1": 1, "poster-1": 1 });
  });

  test("still broken, the run stays as it is and nothing is bought", async () => {
    const { paidService, resume } = await broken();
    expect([(await resume({ pipeline: scenes(false) })).status, paidService.jobs.size]).toEqual(["failed", 0]);
  });
});

describe("run with an id that exists", () => {
  test("planned from the very same, a finished run is told and nothing is paid twice", async () => {
    const { paidService, run } = await shopWorld();
    expect([(await run(shop, { size: "xx" })).status, paidService.jobs.size]).toEqual(["succeeded", 4]);
  });

  test("an interrupted or stopped run goes on", async () => {
    const world = await openFakeShow({ varies: true });
    const signal = AbortSignal.abort();
    expect((await world.run(shop, { size: "xx" }, { signal })).status).toBe("paused");
    expect([(await world.run(shop, { size: "xx" })).status, world.paidService.jobs.size]).toEqual(["succeeded", 4]);
  });

  test("planned from another input, it refuses, says what differs and how to take it up", async () => {
    const world = await shopWorld();
    await expect(world.run(shop, { size: "xx", colour: "deep blue" })).rejects.toMatchObject({
      code: "RUN_DIFFERS",
      message: expect.stringContaining('input.colour: "red" → "deep blue"'),
      next: expect.stringMatching(/^showrunner resume x --file \S+ -i 'colour=deep blue' --accept-changes {3}\(/),
    });
    expect(world.paidService.jobs.size).toBe(4);
  });

  test("with onExisting fail it is refused, whatever it was planned from", async () => {
    const world = await shopWorld();
    await expect(world.run(shop, { size: "xx" }, { onExisting: "fail" })).rejects.toMatchObject({ code: "RUN_EXISTS" });
  });

  /** A run that a process on another host holds, which dies without a word; its lease lasts a minute. */
  async function heldElsewhere(...events: readonly RunEvent[]) {
    const world = await openFakeShow({ varies: true });
    const { clock, journal } = world;
    const signal = AbortSignal.abort();
    await world.run(shop, { size: "xx" }, { signal });
    const other = { ...thisHolder("other"), host: "another-host" };
    const at = clock.now();
    const taken = await journal.takeLease("x", other, { at, ttlMs: 60_000, isDead: () => false });
    if (!taken.acquired) throw new Error("the run is held");
    const { lease } = taken;
    const afterSeq = (await journal.run("x"))!.lastSeq;
    const status = events.at(-1)?.type === "run.paused" ? "paused" : "running";
    await journal.commit({ lease, afterSeq, at, events: [{ type: "run.resumed" }, ...events], status });
    return { ...world, at };
  }

  const followed = ({ clock, show }: FakeShow, options: RunOptions = {}) =>
    during(clock, show.run(shop, { size: "xx" }, { id: "x", ...options }));

  test("one that another process drives is followed, and driven here when that process dies", async () => {
    const world = await heldElsewhere();
    const { clock, at } = world;
    const handle = await followed(world);
    const result = await during(clock, handle.result());
    expect(clock.now() - at).toBeGreaterThan(60_000);
    expect([result.status, world.paidService.jobs.size]).toEqual(["succeeded", 4]);
    const seen: number[] = [];
    for await (const update of handle.events()) if ("seq" in update) seen.push(update.seq);
    expect(seen).toEqual(seen.map((_, index) => index + 1));
  });

  const tooDear = { type: "run.paused", reason: "budget", message: ownText("too dear") } as const;
  const stopped = { status: "paused", pause: { reason: "stopped" } };

  /** The first so many attempts to take a run take their time. */
  function slowLeases(journal: JournalStore, clock: FakeShow["clock"], slow: number): void {
    const takeLease = journal.takeLease.bind(journal);
    let calls = 0;
    const slowly: JournalStore["takeLease"] = async (...how) => {
      if (++calls <= slow) await sleep(clock, 2_000);
      return takeLease(...how);
    };
    Object.assign(journal, { takeLease: slowly });
  }

  test("a stop that the other process died with still stops the run in its next process", async () => {
    const world = await heldElsewhere();
    const handle = await followed(world);
    await world.show.stop("x");
    expect(await during(world.clock, handle.result())).toMatchObject(stopped);
    expect(world.paidService.jobs.size).toBe(0);
  });

  test("a signal that was aborted before stops it as one that is aborted later", async () => {
    const world = await heldElsewhere();
    const handle = await followed(world, { signal: AbortSignal.abort() });
    expect((await world.journal.inbox("x")).map(({ message }) => message.type)).toEqual(["stop"]);
    expect(await during(world.clock, handle.result())).toMatchObject({ status: "paused" });
    expect(world.paidService.jobs.size).toBe(0);
  });

  test("one that paused before its process died is told, not waited for for ever", async () => {
    const world = await heldElsewhere(tooDear);
    const handle = await followed(world);
    const result = await during(world.clock, handle.result());
    expect(result).toMatchObject({ status: "paused", pause: { reason: "budget" } });
    expect(await world.run(shop, { size: "xx" })).toMatchObject({ status: "succeeded" });
  });

  test("a budget for one that another process drives is applied once that one has paused it", async () => {
    const { run } = await heldElsewhere(tooDear);
    const done = { status: "succeeded", report: { budget: "7.00" } };
    expect(await run(shop, { size: "xx" }, { budget: "7" })).toMatchObject(done);
  });

  test.each([{ budget: "7" }, { agree: "7" }])(
    "limits (%j) for one that somebody stops meanwhile leave it stopped",
    async (limits) => {
      const message = ownText("stopped on request");
      const { paidService, run } = await heldElsewhere({ type: "run.paused", reason: "stopped", message });
      expect(await run(shop, { size: "xx" }, limits)).toMatchObject(stopped);
      expect(paidService.jobs.size).toBe(0);
    },
  );

  test("of several that follow it one takes it over, and the others are told its end all the same", async () => {
    const world = await heldElsewhere();
    slowLeases(world.journal, world.clock, 3);
    const handles = await Promise.all([followed(world), followed(world), followed(world)]);
    const results = await during(world.clock, Promise.all(handles.map((handle) => handle.result())));
    expect(results.map(({ status }) => status)).toEqual(["succeeded", "succeeded", "succeeded"]);
    expect(world.paidService.jobs.size).toBe(4);
  });

  test("scripts that begin the same run at the same moment all get its result, however slowly the first begins", async () => {
    const { clock, journal, outDir, paidService, show } = await openFakeShow({ varies: true });
    slowLeases(journal, clock, 1);
    const begin = async () => (await show.run(shop, { size: "xx" }, { id: "x", outDir })).result();
    const results = await during(clock, Promise.all([begin(), begin(), begin()]));
    expect(results.map(({ status }) => status)).toEqual(["succeeded", "succeeded", "succeeded"]);
    expect(paidService.jobs.size).toBe(4);
  });

  test("a signal is let go of once the run that was followed is through", async () => {
    const world = await heldElsewhere();
    const stop = new AbortController();
    const handle = await followed(world, { signal: stop.signal });
    await during(world.clock, handle.result());
    stop.abort();
    await new Promise((resolve) => setImmediate(resolve));
    expect(await world.journal.inbox("x")).toEqual([]);
  });
});
