import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Overlay, type StepEdits, withEdits, withOverlay } from "../../../src/core/plan/index.ts";
import type { Draft } from "../../../src/core/plan/plan.ts";
import type { Pipeline, ResumeOptions } from "../../../src/index.ts";
import { eventsOf, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

/** How an edit is refused: the error, and what it says or of which step. */
interface Refused {
  readonly code: string;
  readonly message?: RegExp;
  readonly step?: string;
}

type Edit = NonNullable<ResumeOptions["edit"]>;

/** A face and a poster of it, and words that lead to a picture each. */
const posters = (text = "a poster"): Pipeline =>
  pipelineOf(
    "posters",
    ({ job, chat, expand }) => {
      const face = job("face", models.image, { prompt: "a face" });
      const words = chat("words", "chat-1", { prompt: "two words" }, { schema: z.array(z.string()), maxCost: "0.01" });
      const each = expand(
        "each",
        words,
        (list, within) => list.map((word) => within.job(word, models.image, { prompt: word })),
        { maxSteps: 5 },
      );
      return { poster: job("poster", models.image, { prompt: text, images: [face] }), each };
    },
    { profiles: { loud: { steps: { poster: { fields: { prompt: "LOUD" } } } } } },
  );

async function made(options: { readonly profile?: string } = {}) {
  const world = await openFakeShow({ says: () => '["one","two"]' });
  const { paidService, resume } = world;
  expect((await world.run(posters(), {}, options)).status).toBe("succeeded");
  return {
    ...world,
    edit: (edit: Edit, more: ResumeOptions = {}) => resume({ pipeline: posters(), acceptChanges: true, edit, ...more }),
    replanned: async () =>
      (await eventsOf(world)).flatMap((event) => (event.type === "run.replanned" ? (event.edited ?? []) : [])),
    prompts: () => paidService.prompts,
  };
}

describe("an input of a step that is edited", () => {
  test("is priced before, made again with all that uses it, and stays through later changes of the code", async () => {
    const { show, edit, resume, prompts, replanned } = await made();
    const change: Edit = { face: { prompt: "an old face" } };
    const fields = [{ field: "input.prompt", before: "a face", after: "an old face" }];
    expect(await show.drift("x", posters(), { edit: change })).toMatchObject({
      ...{
        stale: ["face", "poster"],
        totalMicros: { min: 200_000, max: 200_000 },
        changed: [{ path: "face", fields }],
      },
    });
    const drifted = await resume({ pipeline: posters(), edit: change });
    expect(drifted).toMatchObject({ drift: { stale: ["face", "poster"] } });
    expect((await edit(change, { note: "the client wants it older" })).status).toBe("succeeded");
    expect(prompts().slice(4)).toEqual(["an old face", "a poster"]);

    // The same code is no drift from what somebody edited, and other code keeps it.
    expect(await show.drift("x", posters())).toMatchObject({ isSame: true });
    expect((await resume({ pipeline: posters("a blue poster"), acceptChanges: true })).status).toBe("succeeded");
    expect(prompts().slice(6)).toEqual(["a blue poster"]);
    expect(await replanned()).toContainEqual({
      steps: { face: { set: { prompt: "an old face" }, without: [] } },
      note: "the client wants it older",
    });
  });

  test("under a request id is applied once, also when the repeated call has other values [G11]", async () => {
    const { show, edit, prompts, replanned } = await made();
    const once = { requestId: "older", note: "older" };
    expect((await edit({ face: { prompt: "an old face" } }, once)).status).toBe("succeeded");
    expect(prompts().slice(4)).toEqual(["an old face", "a poster"]);
    const again: Edit = { face: { prompt: "an old, old face" } };
    expect(await show.drift("x", posters(), { edit: again, requestId: "older" })).toMatchObject({
      isSame: true,
      stale: [],
      inProgress: [{ requestId: "older", steps: ["face"], isOpen: false }],
    });
    expect((await edit(again, once)).status).toBe("succeeded");
    expect(prompts()).toHaveLength(6);
    expect(await replanned()).toHaveLength(1);
    await expect(edit({ poster: { prompt: "another" } }, once)).rejects.toMatchObject({ option: "requestId" });
    expect((await edit(again, { requestId: "older-2" })).status).toBe("succeeded");
    expect(prompts().slice(6)).toEqual(["an old, old face", "a poster"]);
  });

  test("of an expansion is laid over its steps, also when it is planned again", async () => {
    const { edit, resume, prompts } = await made();
    expect((await edit({ "each/two": { prompt: "2" } })).status).toBe("succeeded");
    expect(prompts().slice(4)).toEqual(["2"]);
    expect((await resume({ pipeline: posters(), rerun: ["each/one", "each/two"] })).status).toBe("succeeded");
    expect(prompts().slice(5).toSorted()).toEqual(["2", "one"]);
    expect((await resume({ pipeline: posters(), rerun: ["each"] })).status).toBe("succeeded");
    expect(prompts().slice(7)).not.toContain("two");
  });

  test("counts above the profile, field by field, until it is left out", async () => {
    const { edit, prompts } = await made({ profile: "loud" });
    expect(prompts()).toContain("LOUD");
    await edit({ poster: { seed: 7 } });
    expect(prompts().slice(4)).toEqual(["LOUD"]);
    await edit({ poster: { prompt: "quiet" } });
    expect(prompts().slice(5)).toEqual(["quiet"]);
  });

  test.each<[string, Edit, Refused]>([
    ["no step of the run", { fase: { prompt: "x" } }, { code: "INVALID_OPTION", message: /no step fase.*face/ }],
    ["no job or chat", { each: { a: 1 } }, { code: "INVALID_OPTION", message: /each \(expand\) cannot be edited/ }],
    ["no field of the model", { face: { promt: "x" } }, { code: "PLAN_PROBLEMS", step: "face" }],
    ["no value of the field", { face: { prompt: 7 } }, { code: "PLAN_PROBLEMS", step: "face" }],
    ["a field that must be there", { face: { prompt: undefined } }, { code: "PLAN_PROBLEMS", step: "face" }],
  ])("is refused before anything is written where it names %s", async (_, change, { code, message, step }) => {
    const { edit, paidService, show } = await made();
    const [{ lastSeq: before } = { lastSeq: 0 }] = await show.runs();
    await expect(edit(change)).rejects.toMatchObject({
      code,
      ...(message !== undefined && { message: expect.stringMatching(message) }),
      ...(step !== undefined && { problems: expect.arrayContaining([expect.objectContaining({ step })]) }),
    });
    expect([paidService.jobs.size, (await show.runs())[0]?.lastSeq]).toEqual([4, before]);
  });

  test("needs the code of the run", async () => {
    const { resume } = await made();
    await expect(resume({ edit: { face: { prompt: "x" } } })).rejects.toThrow(/edit.*needs the run's code/s);
  });
});

const fields = fc.constantFrom("prompt", "seed", "style");
const change = fc.record({
  set: fc.dictionary(fields, fc.integer({ min: 0, max: 9 })),
  without: fc.uniqueArray(fields),
});
// No change names a field twice.
const consistent = change.map(({ set, without }) => ({
  set,
  without: without.filter((name) => !Object.hasOwn(set, name)),
}));
const edits: fc.Arbitrary<StepEdits> = fc.dictionary(fc.constantFrom("a", "b"), consistent);
const step = (path: string) => ({
  ...{ kind: "job" as const, path, after: [], when: null, model: "m", seed: null },
  policy: {} as never,
  input: { prompt: "p", seed: 1 },
});
const draft = { pipeline: "p", steps: [step("a"), step("b")], returns: {} } as unknown as Draft;
const laid = (over: Overlay, on: Draft) => withOverlay(on, over);

test("edits one after another are the same as all of them at once, above any profile", () => {
  const profile = fc.record({
    ...{ name: fc.constant("x"), models: fc.constant({}), fields: fc.constant({}) },
    steps: fc.dictionary(
      fc.constantFrom("a", "b", "*"),
      consistent.map((one) => ({ ...one, model: null })),
    ),
  });
  fc.assert(
    fc.property(profile, edits, edits, (profile, first, second) => {
      const apart = laid({ edits: second }, laid({ edits: first }, laid({ profile }, draft)));
      expect(laid({ profile, edits: withEdits(first, second) }, draft)).toEqual(apart);
    }),
  );
});
