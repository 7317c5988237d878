import { describe, expect, test } from "vitest";
import { z } from "zod";
import { attemptsOf, during, type FakeShow, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

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

async function ran(): Promise<FakeShow> {
  const says = () => JSON.stringify({ scenes: ["boats", "gulls"] });
  const world = await openFakeShow({ says, varies: true });
  expect((await world.run(scenes())).status).toBe("succeeded");
  return world;
}

describe("drift of steps that a value led to", () => {
  test("the same code asks for the same, expansions included", async () => {
    const { clock, show } = await ran();
    const drift = await during(clock, show.drift("x", scenes()));
    expect(drift).toMatchObject({ isSame: true, stale: [] });
    expect(drift.unchanged).toEqual(["story", "shots", "poster", "shots/shot-0", "shots/shot-1"]);
  });

  test("a change within makes that step and the dependents of the expansion stale; nothing else is rerun", async () => {
    const world = await ran();
    const changed = scenes({ prompt: (scene, index) => (index === 1 ? `${scene} at night` : scene) });
    const drift = await during(world.clock, world.show.drift("x", changed));
    expect(drift.changed.map(({ path, fields }) => [path, fields[0]?.after])).toEqual([
      ["shots/shot-1", "gulls at night"],
    ]);
    expect([...drift.stale].sort()).toEqual(["poster", "shots", "shots/shot-1"]);
    expect(drift.totalMicros).toEqual({ min: 200_000, max: 200_000 });
    const result = await world.resume({ acceptChanges: true, pipeline: changed });
    expect(result.status).toBe("succeeded");
    expect(attemptsOf(result)).toEqual({ story: 1, shots: 0, poster: 2, "shots/shot-0": 1, "shots/shot-1": 2 });
    expect(world.paidService.chats.size).toBe(1);
    expect(world.paidService.jobs.size).toBe(5);
  });

  test("a renamed expansion keeps the results of its steps", async () => {
    const world = await ran();
    const renamed = scenes({ name: "pictures" });
    const drift = await during(world.clock, world.show.drift("x", renamed));
    expect(drift.renamed).toEqual([
      { from: "shots", to: "pictures" },
      { from: "shots/shot-0", to: "pictures/shot-0" },
      { from: "shots/shot-1", to: "pictures/shot-1" },
    ]);
    expect(drift).toMatchObject({ stale: [], changed: [], added: [], removed: [] });
    const result = await world.resume({ acceptChanges: true, pipeline: renamed });
    expect(result.status).toBe("succeeded");
    expect(world.paidService.jobs.size).toBe(3);
    expect(attemptsOf(result)).toEqual({
      story: 1,
      pictures: 0,
      poster: 1,
      "pictures/shot-0": 1,
      "pictures/shot-1": 1,
    });
  });

  test("a change of the value's source plans it again; unchanged steps keep their results", async () => {
    const world = await ran();
    const asked = scenes({ question: "tell it again" });
    const drift = await during(world.clock, world.show.drift("x", asked));
    expect(drift.stale).toEqual(["story", "shots", "poster"]);
    const result = await world.resume({ acceptChanges: true, pipeline: asked });
    expect(result.status).toBe("succeeded");
    // The answer is the same, and so are the pictures; the poster uses just what it used.
    expect(attemptsOf(result)).toEqual({ story: 2, shots: 0, poster: 1, "shots/shot-0": 1, "shots/shot-1": 1 });
    expect(world.paidService.jobs.size).toBe(3);
  });

  test("a builder that throws is a problem of the code; nothing is changed", async () => {
    const world = await ran();
    const broken = scenes({ fails: true });
    const drift = await during(world.clock, world.show.drift("x", broken));
    expect(drift.problems).toMatchObject([{ code: "build", step: "shots" }]);
    const refused = world.resume({ pipeline: broken, acceptChanges: true });
    await expect(refused).rejects.toThrow("The plan has 1 problem");
  });
});
