import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Profiles } from "../../../src/core/define/index.ts";
import { fieldsOf, type Pipeline, pipeline } from "../../../src/index.ts";
import { models, openFakeShow, pipelineOf } from "../../support/engine.ts";

const film = (profiles: Profiles) =>
  pipeline("film", {
    input: z.object({ look: z.string().default("a lighthouse") }),
    profiles,
    build({ input, job }) {
      const face = job("face", models.image, { prompt: input.look, quality: "pro", seed: 7 });
      const clips = ["scene-1", "scene-2"].map((name) =>
        job(name, models.video, {
          ...{ start_image: face, prompt: name, aspect_ratio: "16:9", duration_ms: 10_000, quality: "pro" },
          resolution: "1080p",
        }),
      );
      return { clips };
    },
  });

async function planned(what: Pipeline, profile?: string) {
  const made = await (await openFakeShow()).show.plan(what, {}, { profile });
  if (!made.ok) throw new Error(JSON.stringify(made.problems));
  return new Map(made.plan.steps.flatMap((step) => (step.kind === "job" ? [[step.path, step] as const] : [])));
}

async function problems(what: Pipeline, profile: string) {
  const made = await (await openFakeShow()).show.plan(what, {}, { profile });
  return made.ok ? [] : made.problems;
}

const draft = {
  fields: { ...fieldsOf(models.video, { duration_ms: 3000, resolution: undefined, quality: "standard" }) },
};

describe("a profile", () => {
  test("changes fields of every step of a model, leaves out what it is told to, and nothing else", async () => {
    const drafted = await planned(film({ draft }), "draft");
    const whole = await planned(film({ draft }));
    expect(drafted.get("scene-1")?.input).toMatchObject({ duration_ms: 3000, quality: "standard", prompt: "scene-1" });
    expect(drafted.get("scene-1")?.input).not.toHaveProperty("resolution");
    expect(drafted.get("face")).toEqual(whole.get("face"));
    expect(whole.get("scene-1")?.input).toMatchObject({ duration_ms: 10_000, resolution: "1080p", quality: "pro" });
  });

  test("is written down with the run and named in its manifests", async () => {
    const world = await openFakeShow();
    await world.run(film({ draft }), {}, { id: "x", profile: "draft" });
    const [first] = await world.journal.read("x", { limit: 1 });
    expect(first?.event).toMatchObject({
      profile: { name: "draft", fields: { "video-1": { set: { duration_ms: 3000 }, without: ["resolution"] } } },
    });
  });

  test("and the final run after it takes over just the steps that the profile left as they were", async () => {
    const world = await openFakeShow();
    const what = film({ draft });
    await world.run(what, {}, { id: "one", profile: "draft", reuse: true });
    const result = await world.run(what, {}, { id: "two", reuse: true });
    expect(result.report.steps.map(({ reused_from }) => reused_from?.step ?? null)).toEqual(["face", null, null]);
    expect(world.paidService.jobs.size).toBe(5);
    const sent = [...world.paidService.jobs.values()].slice(3).map(({ body }) => JSON.parse(body).duration_ms);
    expect(sent).toEqual([10_000, 10_000]);
  });
});

describe("steps that a value leads to, and those of an included pipeline,", () => {
  const still = pipelineOf("still", ({ job }) => ({
    picture: job("picture", models.image, { prompt: "still", quality: "pro" }),
  }));
  const grown = pipelineOf(
    "grown",
    ({ chat, expand, include }) => {
      const words = chat("words", "chat-1", { prompt: "two words" }, { schema: z.array(z.string()), maxCost: "0.01" });
      const shots = expand(
        "shots",
        words,
        (list, b) => list.map((prompt, i) => b.job(`draw-${i}`, models.image, { prompt, quality: "pro" })),
        { maxSteps: 5 },
      );
      return { shots, intro: include("intro", still, {}).picture };
    },
    {
      profiles: {
        draft: {
          fields: { ...fieldsOf(models.image, { quality: "standard" }) },
          steps: { "shots/*": { fields: { seed: 5 } } },
        },
      },
    },
  );

  test("are changed by the profile as well", async () => {
    const world = await openFakeShow({ says: () => JSON.stringify(["boats", "gulls"]) });
    const result = await world.run(grown, {}, { id: "x", profile: "draft" });
    expect(result.status).toBe("succeeded");
    const sent = [...world.paidService.jobs.values()].map(({ body }) => JSON.parse(body));
    expect(sent).toHaveLength(3);
    expect(sent).toEqual(
      expect.arrayContaining([
        { prompt: "boats", quality: "standard", seed: 5 },
        { prompt: "gulls", quality: "standard", seed: 5 },
        { prompt: "still", quality: "standard" },
      ]),
    );
  });
});

describe("what is wrong with a profile is a problem of the plan", () => {
  test("a name that there is not, with the one that was meant", async () => {
    const [problem] = await problems(film({ draft, proof: {} }), "drafft");
    expect(problem).toMatchObject({ code: "unknown-profile", field: "profile", allowed: ["draft", "proof"] });
    expect(problem?.message).toContain("did you mean draft?");
    const [none] = await problems(film({}), "draft");
    expect(none?.message).toContain("it has no profiles");
    for (const name of ["constructor", "__proto__", ""]) {
      expect((await problems(film({ draft }), name))[0]?.code).toBe("unknown-profile");
    }
  });

  test("fields, values, models and steps that are not there, all at once", async () => {
    const wrong: Profiles = {
      draft: {
        models: { "imge-1": "image-1" },
        fields: { "video-1": { duraton_ms: 3000, quality: "cheap" } },
        steps: { "scene-3": { fields: {} }, "clip-*": { model: "video-9" } },
      },
    };
    const found = await problems(film(wrong), "draft");
    const at = found.map(({ step, field }) => `${step ?? ""} ${field}`);
    expect(at).toEqual(
      expect.arrayContaining([
        " profiles.draft.models.imge-1",
        " profiles.draft.steps.scene-3",
        " profiles.draft.steps.clip-*",
        "scene-1 input.duraton_ms",
        "scene-2 input.quality",
      ]),
    );
    expect(found.find(({ field }) => field === "profiles.draft.models.imge-1")?.message).toContain(
      "did you mean image-1?",
    );
  });

  test("a service that this is not", async () => {
    const [problem] = await problems(film({ draft: { service: "local" } }), "draft");
    expect(problem).toMatchObject({ code: "profile-service" });
    expect(problem?.message).toContain("--local");
  });
});

test("an empty profile changes no fingerprint; one that changes a field changes just those of its steps", async () => {
  const base = await planned(film({}));
  await fc.assert(
    fc.asyncProperty(fc.subarray(["face", "scene-1", "scene-2"]), fc.constantFrom("x", "y"), async (names, prompt) => {
      const steps = Object.fromEntries(names.map((name) => [name, { fields: { prompt } }]));
      const changed = await planned(film({ draft: { steps } }), "draft");
      for (const [path, step] of changed) {
        expect(step.fingerprint === base.get(path)?.fingerprint).toBe(!names.includes(path));
      }
    }),
    { numRuns: 20 },
  );
});
