import { expect, test } from "vitest";
import { models, openFakeShow, pipelineOf, statusesOf, stepOf } from "../../support/engine.ts";

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

test("what is accepted is used as it is, and nothing else is made", async () => {
  const { paidService, run } = await openFakeShow();
  const { of, seen } = film();
  const result = await run(of);
  expect([result.status, paidService.jobs.size, seen.length]).toEqual(["succeeded", 2, 1]);
  expect(statusesOf(result)).toMatchObject({
    ...{ "still/1-ok": "succeeded", "still/2": "skipped", "still/3-ok": "skipped" },
  });
});

test("what is not accepted causes another attempt, with the next seed; its user waits for one that is", async () => {
  const { paidService, run } = await openFakeShow();
  const result = await run(film({ refused: 2 }).of);
  expect(result.status).toBe("succeeded");
  const asked = [...paidService.jobs.values()].map(({ body }) => JSON.parse(body));
  const boats = [7, 8, 9].map((seed) => ({ prompt: "a boat", seed }));
  expect(asked).toMatchObject([...boats, { prompt: "closer" }]);
  expect(asked[3]).not.toHaveProperty("seed");
  expect(stepOf(result, "still/pick")).toMatchObject({ chosen: { step: "still/3" } });
  expect(stepOf(result, "still/1-ok").reason).toBe("it is black; it is number 1");
});

test("once the attempts are used up nothing that uses it is paid", async () => {
  const { paidService, run } = await openFakeShow();
  const result = await run(film({ refused: 9, acceptAttempts: 2 }).of);
  expect([result.status, paidService.prompts]).toEqual(["failed", ["a boat", "a boat"]]);
  expect(statusesOf(result)).toMatchObject({ film: "skipped", "still/2-ok": "failed" });
  expect(result.report.message ?? JSON.stringify(result)).toContain("it is black");
});

/** One still, looked at by this function. */
const looked = (accept: unknown, acceptAttempts = 3) =>
  pipelineOf("looked", ({ job }) => ({
    still: job("still", models.image, { prompt: "a boat" }, { accept: accept as () => null, acceptAttempts }),
  }));

test("a check that throws has not looked, and causes no other attempt", async () => {
  const { paidService, run } = await openFakeShow();
  const of = looked(() => {
    throw new Error("the model that looks is busy");
  });
  const result = await run(of);
  expect([result.status, paidService.jobs.size]).toEqual(["failed", 1]);
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
  const { run } = await openFakeShow();
  const result = await run(looked(async () => returned));
  const said = `\`accept\` must return null or a description of the problem, not ${shown}`;
  expect(stepOf(result, "still/1-ok")).toMatchObject({ status: "failed", reason: expect.stringContaining(said) });
  expect(stepOf(result, "still/2").status).toBe("skipped");
});

test.each([[null], [undefined], [[]]])("an `accept` that returns %j accepts", async (returned) => {
  expect((await (await openFakeShow()).run(looked(() => returned))).status).toBe("succeeded");
});

test("what the machine lacks for a check is a problem of the plan", async () => {
  const { show } = await openFakeShow();
  const accept = Object.assign(() => null, { requires: () => "no ffmpeg is here. Install it" });
  const problems = [{ code: "missing-requirement", step: "still/1-ok" }];
  expect(await show.quote(looked(accept, 1), {})).toMatchObject({ ok: false, problems });
});

test("options that are none are found while the pipeline is planned", async () => {
  const { show } = await openFakeShow();
  const of = pipelineOf("wrong", ({ job }) => {
    const accept = "not black" as never;
    job("one", models.image, { prompt: "a boat" }, { accept, acceptAttempts: 0 });
    return { two: job("two", models.image, { prompt: "a boat" }, { acceptAttempts: 2 } as never) };
  });
  const { problems } = await show.quote(of, {});
  const fields = problems.map(({ step, field }) => `${step} ${field}`);
  expect(fields).toEqual(["one acceptAttempts", "one accept", "two acceptAttempts"]);
});
