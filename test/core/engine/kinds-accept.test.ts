import { expect, test } from "vitest";
import { during, type FakeShow, models, openFakeShow, pipelineOf, statusesOf, stepOf } from "../../support/engine.ts";

/** A still that is looked at before its film is made; the first ones that are looked at are not accepted. */
function film({ refused = 0, acceptAttempts = 3 } = {}) {
  const seen: string[] = [];
  const of = pipelineOf("film", ({ job }) => {
    const accept = ({ sha256 }: { sha256: string }) => {
      seen.push(sha256);
      return seen.length > refused ? null : ["it is black", `it is number ${seen.length}`];
    };
    const still = job("still", models.image, { prompt: "a boat", seed: 7 }, { accept, acceptAttempts });
    return { film: job("film", models.image, { prompt: "closer", images: [still] }) };
  });
  return { of, seen };
}

const prompts = (world: FakeShow) =>
  [...world.paidService.jobs.values()].map(({ body }) => JSON.parse(body) as { prompt: string; seed?: number });

test("what is accepted is used as it is, and nothing else is made", async () => {
  const world = await openFakeShow();
  const { of, seen } = film();
  const result = await world.run(of);
  expect(result.status).toBe("succeeded");
  expect(world.paidService.jobs.size).toBe(2);
  expect(seen).toHaveLength(1);
  expect(statusesOf(result)).toMatchObject({
    "still/1-ok": "succeeded",
    "still/2": "skipped",
    "still/3-ok": "skipped",
  });
});

test("what is not accepted causes another attempt, with the next seed; its user waits for one that is", async () => {
  const world = await openFakeShow();
  const { of } = film({ refused: 2 });
  const result = await world.run(of);
  expect(result.status).toBe("succeeded");
  expect(prompts(world).map(({ prompt, seed }) => [prompt, seed])).toEqual([
    ["a boat", 7],
    ["a boat", 8],
    ["a boat", 9],
    ["closer", undefined],
  ]);
  expect(stepOf(result, "still/pick")).toMatchObject({ chosen: { step: "still/3" } });
  expect(stepOf(result, "still/1-ok").reason).toBe("it is black; it is number 1");
});

test("once the attempts are used up nothing that uses it is paid", async () => {
  const world = await openFakeShow();
  const { of } = film({ refused: 9, acceptAttempts: 2 });
  const result = await world.run(of);
  expect(result.status).toBe("failed");
  expect(prompts(world).map(({ prompt }) => prompt)).toEqual(["a boat", "a boat"]);
  expect(statusesOf(result)).toMatchObject({ film: "skipped", "still/2-ok": "failed" });
  expect(result.report.message ?? JSON.stringify(result)).toContain("it is black");
});

test("a check that throws has not looked, and causes no other attempt", async () => {
  const world = await openFakeShow();
  const of = pipelineOf("thrown", ({ job }) => {
    const accept = () => {
      throw new Error("the model that looks is busy");
    };
    return { still: job("still", models.image, { prompt: "a boat" }, { accept, acceptAttempts: 3 }) };
  });
  const result = await world.run(of);
  expect(result.status).toBe("failed");
  expect(world.paidService.jobs.size).toBe(1);
  expect(statusesOf(result)).toMatchObject({ "still/1-ok": "failed", "still/2": "skipped" });
});

test.each([
  ["false", false],
  ["true", true],
  ["5", 5],
  ['""', ""],
  ["an Error", new Error("black")],
  ["an object", { ok: false }],
  ["a list with 5", ["it is black", 5]],
  ['a list with ""', [""]],
])("an `accept` that returns %s fails its check, and causes no other attempt", async (shown, returned) => {
  const world = await openFakeShow();
  const of = pipelineOf("misread", ({ job }) => {
    const accept = async () => returned as never;
    return { still: job("still", models.image, { prompt: "a boat" }, { accept, acceptAttempts: 3 }) };
  });
  const result = await world.run(of);
  expect(statusesOf(result)).toMatchObject({ "still/1-ok": "failed", "still/2": "skipped" });
  const { reason } = stepOf(result, "still/1-ok");
  expect(reason).toContain(`\`accept\` must return null or a description of the problem, not ${shown}`);
});

test.each([[null], [undefined], [[]]])("an `accept` that returns %j accepts", async (returned) => {
  const world = await openFakeShow();
  const of = pipelineOf("fine", ({ job }) => ({
    still: job("still", models.image, { prompt: "a boat" }, { accept: () => returned }),
  }));
  expect((await world.run(of)).status).toBe("succeeded");
});

test("what the machine lacks for a check is a problem of the plan", async () => {
  const world = await openFakeShow();
  const accept = Object.assign(() => null, { requires: () => "no ffmpeg is here. Install it" });
  const of = pipelineOf("lacking", ({ job }) => ({
    still: job("still", models.image, { prompt: "a boat" }, { accept }),
  }));
  const quote = await during(world.clock, world.show.quote(of, {}));
  expect(quote).toMatchObject({ ok: false, problems: [{ code: "missing-requirement", step: "still/1-ok" }] });
});

test("options that are none are found while the pipeline is planned", async () => {
  const world = await openFakeShow();
  const of = pipelineOf("wrong", ({ job }) => {
    const accept = "not black" as never;
    job("one", models.image, { prompt: "a boat" }, { accept, acceptAttempts: 0 });
    return { two: job("two", models.image, { prompt: "a boat" }, { acceptAttempts: 2 } as never) };
  });
  const quote = await during(world.clock, world.show.quote(of, {}));
  const problems = quote.ok ? [] : quote.problems.map(({ step, field }) => [step, field]);
  expect(problems).toEqual([
    ["one", "acceptAttempts"],
    ["one", "accept"],
    ["two", "acceptAttempts"],
  ]);
});
