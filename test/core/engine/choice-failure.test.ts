import { describe, expect, test } from "vitest";
import type { Pipeline } from "../../../src/index.ts";
import { apiError, during, models, openFakeShow, pipelineOf, whysOf } from "../../support/engine.ts";

type OnFailure = "continue" | "failFast";
type Build = Parameters<Pipeline["build"]>[0];
type Methods = Parameters<Parameters<Build["firstOf"]>[1][number]>[0];

const rewrite = { model: "chat-1", maxCost: "0.02" } as const;
const DUEL = { prompt: "a duel" };
const dance = (b: Methods) => b.job("dance", models.image, { prompt: "a dance" });
const duel = (b: Methods) => b.job("duel", models.image, DUEL);
const breaks = () => {
  throw new Error("there is no ffmpeg");
};

interface Case {
  readonly build: (b: Build) => unknown;
  readonly code?: string;
}

/** Steps that come to nothing, in every form in which one stands in another's place. */
const CASES = {
  "a job": { build: ({ job }) => job("still", models.image, DUEL) },
  "a job that moderation alone would rewrite": {
    build: ({ job }) => job("still", models.image, DUEL, { onModerated: "rewrite", rewrite }),
  },
  "an option that ends the choice": {
    build: ({ firstOf }) => firstOf("still", [duel, dance]),
    code: "MODERATION_FAILED",
  },
  "the last option": { build: ({ firstOf }) => firstOf("still", [duel, duel]) },
  "a choice within an option": {
    build: ({ firstOf }) => firstOf("still", [(b) => b.firstOf("inner", [duel, dance]), dance]),
    code: "MODERATION_FAILED",
  },
  "every part of a comparison": { build: ({ compare }) => compare("still", { a: duel, b: duel }) },
  "a choice within every part": {
    build: ({ compare }) => {
      const part = (b: Methods) => b.firstOf("inner", [duel, dance]);
      return compare("still", { a: part, b: part });
    },
    code: "MODERATION_FAILED",
  },
  "a check that breaks": { build: ({ job }) => job("still", models.image, { prompt: "x" }, { accept: breaks }) },
  "a check that breaks where another attempt could follow": {
    build: ({ job }) => job("still", models.image, { prompt: "x" }, { accept: breaks, acceptAttempts: 2 }),
  },
  "every attempt refused by its check": {
    build: ({ job }) => job("still", models.image, { prompt: "x" }, { accept: () => "dull", acceptAttempts: 2 }),
  },
} satisfies Record<string, Case> as Record<string, Case>;

/** What is bought once a person decided, which a run that was stopped never asks for. */
const withMore = ({ build }: Case, onFailure: OnFailure) =>
  pipelineOf(
    "p",
    (b) => {
      const still = build(b) as never;
      const boat = b.approve("ok", b.job("boat", models.image, { prompt: "a boat" }));
      return { still, more: b.job("more", models.image, { prompt: "bigger", images: [boat] }) };
    },
    { onFailure },
  );

const refusing = (code = "INVALID_ARGUMENT") => ({
  refuses: (_: string, body: unknown) => (JSON.stringify(body).includes(DUEL.prompt) ? apiError(400, code) : null),
});

describe.each(Object.entries(CASES))("%s", (_, what) => {
  test.each([
    ["failFast", "failed"],
    ["continue", "paused"],
  ] as const)("under %s the run is %s", async (onFailure, status) => {
    const world = await openFakeShow(refusing(what.code));
    const result = await world.run(withMore(what, onFailure));
    expect(result.status, JSON.stringify(whysOf(result))).toBe(status);
  });
});

describe.each(["fail", "rewrite"] as const)("the policy of the job itself, onModerated: %s", (onModerated) => {
  test.each([
    ["failFast", "continue", "failed"],
    ["continue", "failFast", "paused"],
  ] as const)("%s in a pipeline of %s: the run is %s", async (own, around, status) => {
    const options = { onFailure: own, onModerated, ...(onModerated === "rewrite" && { rewrite }) };
    const still: Case = { build: ({ job }) => job("still", models.image, DUEL, options as object) };
    expect(await (await openFakeShow(refusing())).run(withMore(still, around))).toMatchObject({ status });
  });
});

test("what failed within the choice that stopped a run is named when something else is made again", async () => {
  const world = await openFakeShow(refusing("MODERATION_FAILED"));
  await world.run(withMore(CASES["an option that ends the choice"]!, "failFast"));
  await expect(during(world.clock, world.show.resume("x", { rerun: ["boat"] }))).rejects.toThrow(
    "still/1/duel failed, which stops the run (failFast): rerun this step too.",
  );
});
