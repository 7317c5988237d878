import { describe, expect, test } from "vitest";
import type { ChatRequest } from "../../../src/core/api/index.ts";
import { type RunDocument, text } from "../../../src/index.ts";
import { apiError, during, type FakeShow, models, openFakeShow, pipelineOf, stepOf } from "../../support/engine.ts";

/** a → b → c, and d beside them. */
const chain = pipelineOf("chain", ({ job }) => {
  const a = job("a", models.image, { prompt: "a" });
  const b = job("b", models.image, { prompt: "b", images: [a] });
  const c = job("c", models.image, { prompt: "c", images: [b] });
  const d = job("d", models.image, { prompt: "d" });
  return { c, d };
});
/** A person chooses one of three; the choice becomes a poster. */
const casting = pipelineOf("casting", ({ job, choose }) => {
  const faces = [1, 2, 3].map((i) => job(`face-${i}`, models.image, { prompt: `face ${i}` }));
  const chosen = choose("chosen", faces, { by: "person" });
  return { poster: job("poster", models.image, { prompt: "poster", images: [chosen] }), chosen };
});

const costs = (report: RunDocument) =>
  Object.fromEntries(report.steps.map(({ path, attempts }) => [path, attempts.map(({ n, cost }) => `${n}: ${cost}`)]));

describe("rerun", () => {
  test("of a finished run is priced first, and makes the step and all that use it again under new keys [G9]", async () => {
    const { show, paidService, clock, journal, run, resume } = await openFakeShow({ varies: true });
    await run(chain);
    const before = await journal.read("x");
    const quote = await during(clock, show.rerunQuote("x", ["b"]));
    expect(quote).toMatchObject({
      stale: ["b", "c"],
      problems: [],
      totalMicros: { min: 200_000, max: 200_000 },
      committedMicros: 400_000,
    });
    expect(await journal.read("x")).toEqual(before);
    const files = [...paidService.jobs.values()].length;
    const result = await resume({ rerun: ["b"] });
    expect(result.status).toBe("succeeded");
    expect(paidService.jobs.size).toBe(files + 2);
    expect(costs(result.report)).toEqual({
      a: ["1: 0.10"],
      b: ["1: 0.10", "2: 0.10"],
      c: ["1: 0.10", "2: 0.10"],
      d: ["1: 0.10"],
    });
    expect([result.cost.usd, paidService.byKey.size]).toEqual(["0.60", 6]);
    const [first] = stepOf(result, "b").attempts;
    expect(first!.former_outputs).toMatchObject([{ index: 0, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }]);
    expect((await journal.ledger("x")).heldMicros).toBe(0);
  });

  test("of a step whose new result is the same leaves what uses it as it was: nothing more is paid", async () => {
    // On paper the same question gives the same bytes under the same asset id.
    const { paidService, run, resume } = await openFakeShow();
    await run(chain);
    const result = await resume({ rerun: ["a"] });
    expect(result.status).toBe("succeeded");
    expect(costs(result.report)).toMatchObject({ a: ["1: 0.10", "2: 0.10"], b: ["1: 0.10"], c: ["1: 0.10"] });
    expect(paidService.jobs.size).toBe(5);
  });

  test("of a chat asks the chats that use its answer again only if the answer is another", async () => {
    const talk = pipelineOf("talk", ({ chat }) => {
      const idea = chat("idea", "chat-1", { prompt: "an idea" }, { maxCost: "0.01" });
      return { story: chat("story", "chat-1", { prompt: text`a story of ${idea}` }, { maxCost: "0.01" }) };
    });
    let idea = "a fox";
    const says = ({ messages }: ChatRequest) => (JSON.stringify(messages).includes("an idea") ? idea : `once, ${idea}`);
    const world = await openFakeShow({ says });
    const { paidService } = world;
    expect((await world.run(talk)).outputs).toEqual({ story: "once, a fox" });
    const same = await world.resume({ rerun: ["idea"] });
    expect([same.outputs, paidService.chats.size]).toEqual([{ story: "once, a fox" }, 3]);
    idea = "a hen";
    const other = await world.resume({ rerun: ["idea"] });
    expect([other.outputs, paidService.chats.size]).toEqual([{ story: "once, a hen" }, 5]);
    expect(stepOf(other, "story").attempts).toHaveLength(2);
  });

  test("refuses steps that cannot be rerun, and says what to do", async () => {
    const { show, clock, run, resume } = await openFakeShow({ balanceMicros: 150_000 });
    await run(chain, {}, { concurrency: 1, startAnyway: true });
    await expect(resume({ rerun: ["e"] })).rejects.toMatchObject({
      ...{ code: "INVALID_OPTION", option: "rerun" },
      message: expect.stringContaining('run "x" has no step e'),
    });
    await expect(resume({ rerun: ["c"] })).rejects.toThrow("c has not started yet");
    await expect(during(clock, show.rerunQuote("x", ["nowhere"]))).rejects.toThrow("has no step nowhere");
  });

  test("beyond the budget is refused before anything is reset", async () => {
    const { journal, run, resume } = await openFakeShow();
    await run(chain, {}, { budget: "0.55" });
    const before = await journal.read("x");
    const refusal = { code: "OVER_BUDGET", quoteMicros: 600_000 };
    await expect(resume({ rerun: ["b"] })).rejects.toMatchObject(refusal);
    expect(await journal.read("x")).toEqual(before);
    expect((await resume({ rerun: ["b"], budget: "0.60" })).status).toBe("succeeded");
  });

  test("of the failure that stopped a run makes what it stopped too", async () => {
    let broken = true;
    const fast = pipelineOf(
      "fast",
      ({ job }) => {
        const ok = job("ok", models.image, { prompt: "ok" });
        const bad = job("bad", models.image, { prompt: "bad", images: [ok] });
        const other = job("other", models.image, { prompt: "other" }, { after: [bad] });
        const aside = job("aside", models.image, { prompt: "aside" });
        return { ok, bad, other, aside };
      },
      { onFailure: "failFast" },
    );
    const { show, clock, run, resume } = await openFakeShow({
      fails: (_, body) => (broken && JSON.parse(body).prompt === "bad" ? { code: "INTERNAL", retryable: false } : null),
    });
    const stopped = await run(fast);
    expect(stopped.report.steps.map(({ status }) => status)).toEqual(["succeeded", "failed", "cancelled", "succeeded"]);
    // The failure would stop the run again before anything else is made.
    await expect(during(clock, show.resume("x", { rerun: ["aside"] }))).rejects.toMatchObject({
      message: expect.stringContaining("bad failed, which stops the run"),
      next: "showrunner resume x --rerun bad",
    });
    broken = false;
    const quote = await during(clock, show.rerunQuote("x", ["bad"]));
    expect(quote.stale).toEqual(["bad", "other"]);
    const result = await resume({ rerun: ["bad"] });
    expect(result.status).toBe("succeeded");
  });
});

describe("deciding again", () => {
  async function chosen(world: FakeShow, pick: number) {
    await world.show.approve("x", "chosen", { pick });
    return world.resume();
  }

  test("makes exactly what uses the choice again, with the new one", async () => {
    const world = await openFakeShow();
    const { show, paidService, clock } = world;
    expect((await world.run(casting)).pause?.reason).toBe("approval");
    expect([(await chosen(world, 0)).status, paidService.jobs.size]).toEqual(["succeeded", 4]);
    const quote = await during(clock, show.rerunQuote("x", ["chosen"]));
    expect(quote).toMatchObject({ stale: ["chosen", "poster"], totalMicros: { min: 100_000, max: 100_000 } });
    expect((await world.resume({ rerun: ["chosen"] })).pause?.reason).toBe("approval");
    expect(paidService.jobs.size).toBe(4);
    const result = await chosen(world, 2);
    expect([result.status, paidService.jobs.size]).toEqual(["succeeded", 5]);
    const last = JSON.parse([...paidService.jobs.values()].at(-1)!.body);
    const third = [...paidService.jobs.values()].find(({ body }) => JSON.parse(body).prompt === "face 3")!;
    expect(last.images).toEqual([{ source: "asset", asset_id: third.outputs[0]!.assetId }]);
    const face = (result.outputs as { readonly chosen: { readonly assetId: string } }).chosen;
    expect(face.assetId).toBe(third.outputs[0]!.assetId);
  });

  test("for the same as before pays nothing", async () => {
    const world = await openFakeShow();
    const { paidService } = world;
    await world.run(casting);
    await chosen(world, 1);
    await world.resume({ rerun: ["chosen"] });
    const result = await chosen(world, 1);
    expect([result.status, paidService.jobs.size]).toEqual(["succeeded", 4]);
    expect(costs(result.report).poster).toEqual(["1: 0.10"]);
  });
});

describe("an output that the service no longer has", () => {
  const expired = (assets: ReadonlySet<string>) => (_: string, input: unknown) => {
    const gone = [...JSON.stringify(input).matchAll(/"asset_id":"([^"]+)"/g)].some(([, id]) => assets.has(id!));
    if (!gone) return null;
    const details = [{ field: "images[0]", message: "it expired", reason: "expired", allowed: null }];
    return apiError(400, "INVALID_ARGUMENT", { details });
  };
  const two = (keep: boolean) =>
    pipelineOf("two", ({ job, approve }) => {
      const a = job("a", models.image, { prompt: "a" }, { keep });
      const gate = approve("gate", a);
      return { b: job("b", models.image, { prompt: "b", images: [gate] }) };
    });

  test.each([
    ["our copy", true],
    ["its file where that can still be downloaded", false],
  ])("is sent again from %s, for nothing [G17]", async (_, keep) => {
    const gone = new Set<string>();
    const { show, paidService, run, resume } = await openFakeShow({ refuses: expired(gone) });
    await run(two(keep));
    // The service takes the output as an input no more.
    gone.add([...paidService.jobs.values()][0]!.outputs[0]!.assetId!);
    await show.approve("x", "gate");
    expect([(await resume()).status, paidService.jobs.size]).toEqual(["succeeded", 2]);
    expect(JSON.parse([...paidService.jobs.values()][1]!.body).images[0].source).toBe("url");
  });
});
