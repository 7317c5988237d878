import { describe, expect, test } from "vitest";
import { z } from "zod";
import { attemptsOf, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

interface Edit {
  readonly prompt?: (scene: string, index: number) => string;
  readonly name?: string;
  readonly question?: string;
  readonly fails?: boolean;
}

/** A chat's scenes, a picture of each, and a poster of all. */
const scenes = ({ prompt = (scene) => scene, name = "shots", question = "tell", fails = false }: Edit = {}) =>
  pipelineOf("scenes", ({ chat, expand, job }) => {
    const schema = z.object({ scenes: z.array(z.string()) });
    const story = chat("story", "chat-1", { prompt: question }, { schema, maxCost: "0.01" });
    const shots = expand(
      name,
      story.at("scenes"),
      (all, words) => {
        if (fails) throw new Error("the builder is broken");
        return all.map((scene, index) => words.job(`shot-${index}`, models.image, { prompt: prompt(scene, index) }));
      },
      { maxSteps: 5, yields: "image" },
    );
    return { shots, poster: job("poster", models.image, { prompt: "poster", images: shots }) };
  });

async function ran() {
  const says = () => JSON.stringify({ scenes: ["boats", "gulls"] });
  const world = await openFakeShow({ says, varies: true });
  expect((await world.run(scenes())).status).toBe("succeeded");
  const { show, resume } = world;
  return {
    ...world,
    drift: (edit: Edit) => show.drift("x", scenes(edit)),
    accepted: (edit: Edit) => resume({ acceptChanges: true, pipeline: scenes(edit) }),
  };
}

describe("drift of steps that a value led to", () => {
  test("the same code asks for the same, expansions included", async () => {
    const unchanged = ["story", "shots", "poster", "shots/shot-0", "shots/shot-1"];
    expect(await (await ran()).drift({})).toMatchObject({ isSame: true, stale: [], unchanged });
  });

  test("a change within makes that step and the dependents of the expansion stale; nothing else is rerun", async () => {
    const { drift, accepted, paidService } = await ran();
    const edit: Edit = { prompt: (scene, index) => (index === 1 ? `${scene} at night` : scene) };
    const { changed, stale, totalMicros } = await drift(edit);
    expect(changed).toMatchObject([{ path: "shots/shot-1", fields: [{ after: "gulls at night" }] }]);
    expect([[...stale].sort(), totalMicros.max]).toEqual([["poster", "shots", "shots/shot-1"], 200_000]);
    const result = await accepted(edit);
    expect(result.status).toBe("succeeded");
    expect(attemptsOf(result)).toEqual({ story: 1, shots: 0, poster: 2, "shots/shot-0": 1, "shots/shot-1": 2 });
    expect([paidService.chats.size, paidService.jobs.size]).toEqual([1, 5]);
  });

  test("a renamed expansion keeps the results of its steps", async () => {
    const { drift, accepted, paidService } = await ran();
    const renamed = ["", "/shot-0", "/shot-1"].map((step) => ({ from: `shots${step}`, to: `pictures${step}` }));
    const none = { stale: [], changed: [], added: [], removed: [] };
    expect(await drift({ name: "pictures" })).toMatchObject({ renamed, ...none });
    const result = await accepted({ name: "pictures" });
    expect([result.status, paidService.jobs.size]).toEqual(["succeeded", 3]);
    expect(attemptsOf(result)).toEqual({
      ...{ story: 1, pictures: 0, poster: 1, "pictures/shot-0": 1, "pictures/shot-1": 1 },
    });
  });

  test("a change of the value's source plans it again; unchanged steps keep their results", async () => {
    const { drift, accepted, paidService } = await ran();
    const edit = { question: "tell it again" };
    expect((await drift(edit)).stale).toEqual(["story", "shots", "poster"]);
    const result = await accepted(edit);
    expect([result.status, paidService.jobs.size]).toEqual(["succeeded", 3]);
    // The answer is the same, and so are the pictures; the poster uses just what it used.
    expect(attemptsOf(result)).toEqual({ story: 2, shots: 0, poster: 1, "shots/shot-0": 1, "shots/shot-1": 1 });
  });

  test("a builder that throws is a problem of the code; nothing is changed", async () => {
    const { drift, accepted } = await ran();
    expect((await drift({ fails: true })).problems).toMatchObject([{ code: "build", step: "shots" }]);
    await expect(accepted({ fails: true })).rejects.toThrow("The plan has 1 problem");
  });
});
