import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { StepMethods } from "../../../src/core/define/index.ts";
import type { Pipeline, ResumeOptions } from "../../../src/index.ts";
import { apiError, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

/** Of every kind that can be asked for again: a job, a chat, takes and what an expansion led to. */
const posters: Pipeline = pipelineOf("posters", ({ job, chat, takes, expand, approve, task }) => {
  const face = job("face", models.image, { prompt: "a face" });
  const revise = (input: { readonly prompt: string }, note: string) => ({ prompt: `${input.prompt}, ${note}` });
  const poster = job("poster", models.image, { prompt: "a poster", images: [face] }, { revise });
  const words = chat(
    "words",
    "chat-1",
    { prompt: "two words" },
    {
      schema: z.array(z.string()),
      maxCost: "0.01",
      revise: ({ messages }, note) => ({ messages: [...messages, { role: "user", content: note }] }),
    },
  );
  const look = takes("look", models.image, { prompt: "a look" }, { count: 2, choose: "person", revise });
  const each = expand(
    "each",
    words,
    (list, within) => list.map((word) => within.job(word, models.image, { prompt: word }, { revise })),
    { maxSteps: 5 },
  );
  const broken = job("broken", models.image, { prompt: "b" }, { revise: () => JSON.parse("{") });
  const odd = job("odd", models.image, { prompt: "o" }, { revise: () => 5 as never });
  const same = job("same", models.image, { prompt: "s" }, { revise: (input) => ({ ...input }) });
  const written = task("written", {}, () => "a line");
  return {
    fine: approve("fine", poster),
    plain: approve("plain", face),
    line: approve("line", words),
    word: approve("word", written),
    all: [each, look, broken, odd, same],
  };
});

async function waiting() {
  const world = await openFakeShow({ says: () => '["one","two"]' });
  const { show, paidService } = world;
  expect((await world.run(posters)).status).toBe("paused");
  return {
    ...world,
    redo: (step: string, note = "warmer") => show.redo("x", step, note, posters),
    resume: (how: ResumeOptions) => world.resume({ pipeline: posters, acceptChanges: true, ...how }),
    prompts: () => [...paidService.jobs.values()].map(({ body }) => JSON.parse(body).prompt as string),
  };
}

describe("a note on a result", () => {
  test("changes by `revise` what the author says; it is priced, made again and asked for anew", async () => {
    const { show, redo, resume, prompts, paidService } = await waiting();
    const before = prompts().length;
    const how = await redo("fine");
    // What the step refers to stays a reference: nothing but the prompt is edited.
    expect(how).toEqual({ edit: { poster: { prompt: "a poster, warmer" } }, note: "warmer" });
    expect(prompts()).toHaveLength(before);
    expect(await show.drift("x", posters, how)).toMatchObject({
      stale: ["poster", "fine"],
      totalMicros: { max: 100_000 },
    });
    expect((await resume(how)).status).toBe("paused");
    expect(prompts().slice(before)).toEqual(["a poster, warmer"]);
    const asked = (await show.show("x")).steps.find(({ path }) => path === "fine");
    expect(asked).toMatchObject({ status: "awaiting-approval" });
    const poster = (await show.show("x")).steps.find(({ path }) => path === "poster");
    expect(poster).toMatchObject({ edited: ["prompt"] });

    // The next note is about what was made by the last one; what the journal has is never asked of the function again.
    const next = await redo("fine", "and brighter");
    expect(next.edit).toEqual({ poster: { prompt: "a poster, warmer, and brighter" } });
    await resume({});
    expect(prompts()).toHaveLength(before + 1);
    await resume(next);
    expect(prompts().slice(before)).toEqual(["a poster, warmer", "a poster, warmer, and brighter"]);
    expect(paidService.jobs.size).toBe(before + 2);
  });

  test("is about all that is shown: takes, a chat's answer, a step of an expansion", async () => {
    const { redo } = await waiting();
    expect(await redo("look/pick")).toEqual({
      edit: { "look/1": { prompt: "a look, warmer" }, "look/2": { prompt: "a look, warmer" } },
      note: "warmer",
    });
    expect(await redo("each/one")).toEqual({ edit: { "each/one": { prompt: "one, warmer" } }, note: "warmer" });
    expect(Object.keys((await redo("each")).edit!)).toEqual(["each/one", "each/two"]);
    const asked = { role: "user", content: "two words" };
    expect((await redo("line")).edit).toEqual({ words: { messages: [asked, { role: "user", content: "warmer" }] } });
  });

  test("asks for the same once more where no `revise` says what to change, or it changes nothing", async () => {
    const { show, redo, resume, prompts } = await waiting();
    const how = await redo("plain");
    expect(how).toEqual({ rerun: ["face"], note: "warmer" });
    expect(await redo("same")).toEqual({ rerun: ["same"], note: "warmer" });
    const before = prompts().length;
    expect(await show.rerunQuote("x", how.rerun!)).toMatchObject({ stale: ["face", "poster", "fine", "plain"] });
    await resume(how);
    expect(prompts().slice(before)).toContain("a face");
  });

  test.each([
    ["fine", " ", /^note: is empty/],
    ["nothing", "warmer", /^redo: run "x" has no step nothing/],
    ["word", "warmer", /^redo: word has no job or chat output to redo/],
    ["broken", "warmer", /^redo: revise of broken threw: /],
    ["odd", "warmer", /^redo: revise of odd must return an object of fields/],
  ])("on %s that says %j is refused when nothing can come of it", async (step, note, message) => {
    const { redo } = await waiting();
    await expect(redo(step, note)).rejects.toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringMatching(message) }),
    );
  });
});

test("a `revise` that is no function is a problem of the plan", async () => {
  const { show } = await openFakeShow();
  const wrong = pipelineOf("wrong", ({ job }) => ({
    a: job("a", models.image, { prompt: "a" }, { revise: "warmer" as never }),
  }));
  const { problems } = await show.quote(wrong, {});
  expect(problems).toContainEqual(expect.objectContaining({ step: "a", field: "revise" }));
});

describe("a note on what a choice came to", () => {
  const revise = (input: { readonly prompt: string }, note: string) => ({ prompt: `${input.prompt}, ${note}` });
  const rewrite = { model: "chat-1", maxCost: "0.02" } as const;
  const duel = (more: object): Pipeline =>
    pipelineOf("duel", ({ job, approve }) => {
      const input = { prompt: "a duel" };
      const still = job("still", models.image, input, { onModerated: "rewrite", rewrite, ...more });
      return { fine: approve("fine", still) };
    });
  const either = (more: object): Pipeline =>
    pipelineOf("either", ({ firstOf, approve }) => {
      const words = ["a duel", "a dance"];
      const options = words.map((prompt) => (b: StepMethods) => b.job("made", models.image, { prompt }, more));
      return { fine: approve("fine", firstOf("still", options, { onModerated: "next" })) };
    });

  /** A service that refuses such prompts; what was sent to it. */
  async function moderating(isFlagged: (prompt: string) => boolean) {
    const sent: string[] = [];
    const world = await openFakeShow({
      refuses: (_, body) => {
        const { prompt } = body as { readonly prompt: string };
        sent.push(prompt);
        return isFlagged(prompt) ? apiError(422, "MODERATION_FAILED", { param: "input.prompt" }) : null;
      },
      says: () => "a dance",
    });
    return { ...world, sent };
  }

  async function shown(of: Pipeline, isFlagged: boolean) {
    const isHarsh = (prompt: string) => isFlagged && prompt.startsWith("a duel");
    const { show, paidService, sent, run, resume } = await moderating(isHarsh);
    expect((await run(of)).pause?.reason).toBe("approval");
    const how = await show.redo("x", "fine", "warmer", of);
    sent.length = 0;
    expect((await resume({ pipeline: of, acceptChanges: true, ...how })).pause?.reason).toBe("approval");
    return { how, sent, chats: paidService.chats.size };
  }

  test.each([
    ["the milder prompt", duel, "still/2/again", 1],
    ["the next option", either, "still/2/made", 0],
  ])("is about %s where moderation refused the first, which is not asked for again", async (_, of, path, chats) => {
    const { how, ...made } = await shown(of({}), true);
    expect(how).toEqual({ rerun: [path], note: "warmer" });
    expect(made).toEqual({ sent: ["a dance"], chats });
  });

  test("is told to `revise` of the option that was made alone", async () => {
    const next = await shown(either({ revise }), true);
    expect(next.how.edit).toEqual({ "still/2/made": { prompt: "a dance, warmer" } });
    expect(next.sent).toEqual(["a dance, warmer"]);
    const first = await shown(either({ revise }), false);
    expect(first.how.edit).toEqual({ "still/1/made": { prompt: "a duel, warmer" } });
    expect(first.sent).toEqual(["a duel, warmer"]);
  });

  test("asks for another rewriting where moderation refused the milder prompt too, and not for the first one", async () => {
    const { show, paidService, sent, run, resume } = await moderating(() => true);
    expect((await run(duel({}))).status).toBe("failed");
    const how = await show.redo("x", "still/pick", "warmer", duel({}));
    expect(how).toEqual({ rerun: ["still/2/prompt"], note: "warmer" });
    await resume({ pipeline: duel({}), ...how });
    expect([sent, paidService.chats.size]).toEqual([["a duel", "a dance", "a dance"], 2]);
  });

  test("is about the first prompt where that was made", async () => {
    const { how, sent } = await shown(duel({}), false);
    expect([how.rerun, sent]).toEqual([["still/1/first"], ["a duel"]]);
  });
});
