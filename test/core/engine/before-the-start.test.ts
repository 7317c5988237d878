import { expect, test } from "vitest";
import { z } from "zod";
import { pipeline } from "../../../src/index.ts";
import { apiError, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

const two = pipelineOf("two", ({ job }) => ({
  a: job("a", models.image, { prompt: "a" }),
  b: job("b", models.image, { prompt: "b" }),
}));

test("a plan of 0.20 dollars does not start with 0.10 in the wallet, unless somebody says so [G20]", async () => {
  const { show, paidService, run } = await openFakeShow({ balanceMicros: 100_000 });
  expect(await show.quote(two, {}, { budget: "1" })).toMatchObject({
    ...{ ok: true, balanceMicros: 100_000, budgetMicros: 1_000_000, totalMicros: { min: 200_000, max: 200_000 } },
  });
  await expect(show.run(two, {}, { id: "x" })).rejects.toMatchObject({
    code: "WALLET_SHORT",
    leastMicros: 200_000,
    balanceMicros: 100_000,
    message: expect.stringContaining("0.20 USD, but the wallet holds 0.10 USD: 0.10 USD short. Nothing was submitted."),
  });
  expect([await show.runs(), paidService.submits]).toEqual([[], 0]);
  expect(await run(two, {}, { startAnyway: true })).toMatchObject({ status: "paused", pause: { reason: "funds" } });
  // Where funds are added is known from then on.
  const again = show.run(two, {}, { id: "y" });
  await expect(again).rejects.toMatchObject({ code: "WALLET_SHORT", fundingUrl: expect.stringMatching(/^https:/) });
});

test("a service that does not tell what the wallet holds stops no run", async () => {
  const { show, run } = await openFakeShow({
    client: () => ({ balance: () => Promise.reject(apiError(403, "PERMISSION_DENIED")) }),
  });
  expect((await show.quote(two, {})).balanceMicros).toBeNull();
  expect((await run(two)).status).toBe("succeeded");
});

test("a paid step that nothing uses and nothing returns is a warning of the plan, and no problem", async () => {
  const loose = pipelineOf("loose", ({ job }) => {
    job("forgotten", models.image, { prompt: "x" });
    return { a: job("a", models.image, { prompt: "a" }) };
  });
  const { show } = await openFakeShow();
  const message = "costs money, but nothing uses or returns its result; use or return the result, or remove the step";
  const { ok, warnings } = await show.quote(loose, {});
  expect([ok, warnings]).toEqual([true, [{ code: "unused", step: "forgotten", message }]]);
});

test.each([
  [422, "MODERATION_FAILED"],
  [404, "NOT_FOUND"],
  [413, "PAYLOAD_TOO_LARGE"],
])("a price that is refused with %i is a problem with its step, beside all others", async (status, code) => {
  const estimate = () => Promise.reject(apiError(status, code, { param: "input.prompt" }));
  const { show } = await openFakeShow({ client: () => ({ estimate }) });
  const problems = [{ step: "a" }, { step: "b" }];
  expect(await show.quote(two, {})).toMatchObject({ ok: false, problems });
  await expect(show.run(two, {})).rejects.toMatchObject({ code: "PLAN_PROBLEMS", problems });
});

test("a voice that the model does not have is found by the plan, with the nearest names, also where the price waits for others", async () => {
  const voices = async function* () {
    for (const name of ["Ada", "Ben"]) yield { id: `voice_${name.toLowerCase()}`, name };
  };
  const { show } = await openFakeShow({ client: () => ({ voices: voices as never }) });
  const spoken = (voice_id: string) =>
    pipelineOf("spoken", ({ task, job }) => {
      const text = task("text", {}, () => "hello");
      return { speech: job("speech", models.speech, { text, voice_id }) };
    });
  expect((await show.quote(spoken("voice_ben"), {})).problems).toEqual([]);
  const { problems } = await show.quote(spoken("ava"), {});
  expect(problems).toEqual([
    {
      code: "unknown-voice",
      step: "speech",
      field: "input.voice_id",
      message: expect.stringMatching(
        /has no voice "ava"; did you mean voice_ada \(Ada\)\? available voices: voice_ada \(Ada\), voice_ben \(Ben\)$/,
      ),
      allowed: ["voice_ada"],
    },
  ]);
});

test("a run is called by what its pipeline or its caller says, is found by it, and by its id where neither does", async () => {
  const { show, run } = await openFakeShow();
  const titled = pipeline("titled", {
    input: z.object({ product: z.string().transform((name) => name.toUpperCase()) }),
    title: ({ product }) => (product === "NONE" ? (undefined as unknown as string) : ` Ad for\n${product}\u001b `),
    build: ({ job }) => ({ a: job("a", models.image, { prompt: "a" }) }),
  });
  const problems = [{ code: "title", message: "`title` did not return a string" }];
  await expect(show.plan(titled, { product: "none" })).resolves.toMatchObject({ problems });
  const title = () => {
    throw new Error("no name");
  };
  const threw = [{ message: expect.stringContaining("`title` threw an error: no name") }];
  const throwing = pipelineOf("throwing", two.build, { title });
  await expect(show.plan(throwing, {})).resolves.toMatchObject({ problems: threw });
  for (const id of ["x", "y", "z"]) {
    await run(titled, { product: `scarf ${id}` }, { id, ...(id === "y" && { title: "é".repeat(200) }) });
  }
  const titles = (await show.runs({ search: "scarf" })).map(({ runId, title }) => `${runId} ${title}`);
  expect(titles).toEqual(["z Ad for SCARF Z\ufffd", `y ${"é".repeat(119)}…`, "x Ad for SCARF X\ufffd"]);
  expect((await show.runs({ search: "ad x" })).map(({ runId }) => runId)).toEqual(["x"]);
  expect((await show.show("x")).title).toBe("Ad for SCARF X\ufffd");
});
