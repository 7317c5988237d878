import { describe, expect, test } from "vitest";
import { apiError, type FakeServiceOptions, models, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { apiCallError, MockProvider } from "../../support/mock-models.ts";
import { stepOf, whysOf } from "../../support/run-facts.ts";

const rewrite = { model: "chat-1", maxCost: "0.02" } as const;

const duel = pipelineOf("duel", ({ job }) => {
  const still = job("still", models.image, { prompt: "a duel" }, { onModerated: "rewrite", rewrite });
  return {
    film: job("film", models.video, { prompt: "pan", start_image: still, aspect_ratio: "16:9", duration_ms: 3000 }),
  };
});

const says =
  (...words: readonly string[]) =>
  (body: unknown) =>
    words.some((word) => JSON.stringify(body).includes(`"${word}"`));
const isHarsh = says("a duel");
const refusing = (isFlagged: (body: unknown) => boolean): Partial<FakeServiceOptions> => ({
  refuses: (_, body) => (isFlagged(body) ? apiError(422, "MODERATION_FAILED", { param: "input.prompt" }) : null),
  says: () => "a dance",
  chatMicros: 5_000,
});

const refusingEstimates = (isFlagged: (asked: unknown) => boolean): Parameters<typeof openFakeShow>[0] => ({
  client: ({ estimate }) => ({
    estimate: async (...asked) => {
      if (isFlagged(asked)) throw apiError(422, "MODERATION_FAILED");
      return estimate(...asked);
    },
  }),
});

describe("a job whose prompt may be rewritten", () => {
  test("is made as it is written where moderation has nothing against it", async () => {
    const world = await openFakeShow(refusing(() => false));
    const result = await world.run(duel);
    expect(result.status).toBe("succeeded");
    expect(whysOf(result)["still/2/again"]).toBe("skipped: not needed: still/1 succeeded");
    expect(world.paidService.chats.size).toBe(0);
  });

  test("is made with a milder prompt where it was refused, which is shown as what was changed", async () => {
    const world = await openFakeShow(refusing(isHarsh));
    const result = await world.run(duel);
    expect(result.status).toBe("succeeded");
    expect(whysOf(result)["still/pick"]).toContain("refused by moderation");
    expect(stepOf(result, "still/2/prompt").value).toBe("a dance");
    expect([...world.paidService.jobs.values()].map(({ body }) => says("a dance")(JSON.parse(body)))).toEqual([
      true,
      false,
    ]);
    const [chat] = [...world.paidService.chats.values()];
    expect(chat!.request.messages.at(-1)).toEqual({ role: "user", content: "a duel" });
    expect(world.paidService.chats.size).toBe(1);
  });

  test("fails and says both where the milder prompt is refused too, after one rewriting", async () => {
    const world = await openFakeShow(refusing(says("a duel", "a dance")));
    const result = await world.run(duel);
    expect(result.status).toBe("failed");
    const said = whysOf(result)["still/pick"]!;
    expect(said).toContain("still/1/first: refused by moderation");
    expect(said).toContain("still/2/again: refused by moderation");
    expect([world.paidService.chats.size, world.paidService.jobs.size]).toEqual([1, 0]);
  });

  test("asks nobody for another prompt where it failed for another reason", async () => {
    const world = await openFakeShow({
      refuses: (_, body) => (isHarsh(body) ? apiError(400, "INVALID_ARGUMENT") : null),
    });
    const result = await world.run(duel);
    expect(result.status).toBe("failed");
    expect(whysOf(result)["still/2/prompt"]).toContain("not started: still/1/first: refused on paper (400)");
    expect(world.paidService.chats.size).toBe(0);
  });

  test("is priced with its rewriting, and charged no more than that", async () => {
    const world = await openFakeShow(refusing(isHarsh));
    const quote = await world.show.quote(duel, {});
    // Picture or picture with rewriting, and the film.
    expect(quote.totalMicros.max).toBe(100_000 + 20_000 + 100_000);
    const result = await world.run(duel, {}, { budget: "0.22" });
    expect(result.cost.micros).toBe(205_000);
  });

  test("needs a chat model, and words to rewrite", async () => {
    const wrong = pipelineOf("wrong", ({ job }) => ({ up: job("up", "upscale-1", {}, { onModerated: "rewrite" }) }));
    const { problems } = await (await openFakeShow()).show.quote(wrong, {});
    expect(problems.map(({ field }) => field)).toEqual(expect.arrayContaining(["rewrite", "onModerated"]));
  });
});

test("what moderation refuses in its estimate by now is no reason against making the milder one again", async () => {
  let isLater = false;
  const world = await openFakeShow({
    fails: (_, body) => {
      if (body.includes("a duel")) return { code: "MODERATION_FAILED", retryable: false };
      return body.includes("a dance") && !isLater ? { code: "INTERNAL", retryable: false } : null;
    },
    refuses: (_, body) => (isLater && isHarsh(body) ? apiError(422, "MODERATION_FAILED") : null),
    says: () => "a dance",
  });
  expect((await world.run(duel)).status).toBe("failed");
  isLater = true;
  await world.clock.advance(10 * 60_000);
  expect(await world.resume({ rerunFailed: true })).toMatchObject({ status: "succeeded" });
  expect(world.paidService.chats.size).toBe(1);
});

test("a first choice that moderation refuses in its estimate by now is no reason against making the next one again", async () => {
  const either = pipelineOf("either", ({ firstOf }) => ({
    still: firstOf(
      "still",
      [(b) => b.job("a", models.image, { prompt: "a duel" }), (b) => b.job("b", models.image, { prompt: "a dance" })],
      { onModerated: "next" },
    ),
  }));
  let isLater = false;
  const world = await openFakeShow({
    fails: (_, body) =>
      isLater ? null : { code: body.includes("a duel") ? "MODERATION_FAILED" : "INTERNAL", retryable: false },
    refuses: (_, body) => (isHarsh(body) && isLater ? apiError(422, "MODERATION_FAILED") : null),
    ...refusingEstimates((asked) => isLater && isHarsh(asked)),
  });
  expect((await world.run(either)).status).toBe("failed");
  isLater = true;
  await world.clock.advance(10 * 60_000);
  expect(await world.resume({ rerunFailed: true })).toMatchObject({ status: "succeeded" });
});

test("a failure that another prompt may make up for does not stop a run that fails fast", async () => {
  const both = pipelineOf(
    "both",
    ({ job }) => ({
      still: job("still", models.image, { prompt: "a duel" }, { onModerated: "rewrite", rewrite }),
      other: job("other", models.image, { prompt: "a boat" }),
    }),
    { onFailure: "failFast" },
  );
  const world = await openFakeShow(refusing(isHarsh));
  expect((await world.run(both)).status).toBe("succeeded");
  const strict = await openFakeShow(refusing(says("a duel", "a dance")));
  expect(whysOf(await strict.run(both))["still/2/again"]).toContain("failed: refused on paper (422)");
});

describe("a request to a provider whose prompt may be rewritten", () => {
  const of = (provider: MockProvider, isFilm: boolean) =>
    pipelineOf("asked", ({ generate }) => {
      const more = { maxCost: "0.50", onModerated: "rewrite", rewrite } as const;
      const prompt = { prompt: "a duel" };
      return {
        made: isFilm
          ? generate("made", provider.startingVideo(), prompt, more)
          : generate("made", provider.image(), prompt, more),
      };
    });
  const blocked = (body: object) =>
    Object.assign(apiCallError(400, "refused by the safety system", { prompt: "a duel" }), body);

  test.each([
    ["OpenAI", { data: { error: { code: "moderation_blocked" } } }, null],
    [
      "fal",
      { responseBody: JSON.stringify({ detail: [{ type: "content_policy_violation", loc: ["body", "prompt"] }] }) },
      "input.prompt",
    ],
  ])("is sent once more with a milder one where %s calls it moderated", async (_, body, field) => {
    const provider = new MockProvider("mock", [{ throws: blocked(body) }, "made"]);
    const result = await (await openFakeShow({ says: () => "a dance" })).run(of(provider, false));
    expect(result.status).toBe("succeeded");
    expect(provider.requests.map(({ prompt }) => prompt)).toEqual(["a duel", "a dance"]);
    const [refused] = stepOf(result, "made/1/first").attempts;
    expect(refused?.flagged).toEqual({ of: "input", field, category: null });
  });

  test("is not sent again for a refusal that is none of moderation", async () => {
    const provider = new MockProvider("mock", [{ throws: blocked({}) }, "made"]);
    const result = await (await openFakeShow({ says: () => "a dance" })).run(of(provider, false));
    expect(result.status).toBe("failed");
    expect(provider.requests).toHaveLength(1);
  });

  test("waits for a person while an answer is unknown", async () => {
    const provider = new MockProvider("mock", [{ throws: new Error("socket hang up"), made: true }, "made"]);
    const world = await openFakeShow({ says: () => "a dance" });
    const result = await world.run(of(provider, false));
    expect([result.status, world.paidService.chats.size]).toEqual(["paused", 0]);
  });

  test("gets a milder one where moderation comes with the status, at the price of both", async () => {
    const provider = new MockProvider("mock");
    provider.status = () => {
      const [{ prompt }] = provider.requests.slice(-1) as [{ prompt: string }];
      if (prompt === "a dance") provider.status = null;
      return prompt === "a dance"
        ? { status: "pending", response: {} }
        : { status: "error", error: "The input or output was flagged as sensitive. (E005)", response: {} };
    };
    const world = await openFakeShow({ says: () => "a dance" });
    const quote = await world.show.quote(of(provider, true), {});
    expect(quote.totalMicros.max).toBe(500_000 + 20_000 + 500_000);
    const result = await world.run(of(provider, true));
    expect(result.status).toBe("succeeded");
    expect(provider.requests.map(({ prompt }) => prompt)).toEqual(["a duel", "a dance"]);
    expect(result.cost.micros).toBeLessThanOrEqual(quote.totalMicros.max!);
  });
});

describe("a prompt that moderation refuses in its estimate already", () => {
  const only = pipelineOf("only", ({ job }) => ({
    still: job("still", models.image, { prompt: "a duel" }, { onModerated: "rewrite", rewrite }),
  }));
  const refusedEarly = { says: () => "a dance", ...refusingEstimates(isHarsh) };

  test("is rewritten at once, and that is said", async () => {
    const result = await (await openFakeShow(refusedEarly)).run(only);
    expect(result.status).toBe("succeeded");
    expect(Object.keys(whysOf(result))).toEqual(["still/2/prompt", "still/2/again", "still/pick"]);
    expect(whysOf(result)["still/pick"]).toMatch(
      /^succeeded: used still\/2: still\/1 was ruled out \(still\/1\/first .*moderation/,
    );
  });

  test.each([
    ["another rewriting made", "is refused too", "MODERATION_FAILED", "refused by moderation: ", 2],
    ["the milder one made again", "failed for another reason", "INTERNAL", "failed at no cost: ", 1],
  ])("has %s by --rerun-failed where the milder one %s", async (_made, _why, code, reason, chats) => {
    let isBroken = true;
    const world = await openFakeShow({ ...refusedEarly, fails: () => (isBroken ? { code, retryable: false } : null) });
    const result = await world.run(only);
    expect(result.status).toBe("failed");
    expect(whysOf(result)["still/pick"]).toMatch(new RegExp(`still/1 was ruled out \\(.*still/2/again: ${reason}`));
    isBroken = false;
    await world.clock.advance(10 * 60_000);
    expect(await world.resume({ rerunFailed: true })).toMatchObject({ status: "succeeded" });
    expect(world.paidService.chats.size).toBe(chats);
  });
});
