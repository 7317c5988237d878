import { describe, expect, test } from "vitest";
import { explainError } from "../../../src/cli/explain-error.ts";
import { values } from "../../../src/cli/input/flag-values.ts";
import { kindOfPath } from "../../../src/core/define/steps/upload.ts";
import { isShowrunnerError } from "../../../src/index.ts";
import { errorText } from "../../../src/studio/mcp/tool-error.ts";
import { models, openFakeShow, pipelineOf } from "../../support/engine.ts";

/** Names that every object seems to have. */
const NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"];

const plain = pipelineOf("plain", ({ job }) => ({ picture: job("picture", models.image, { prompt: "x" }) }));

describe.each(NAMES)("%s where a name is asked for", (name) => {
  test("is unknown, and said to be: in every option of a run that exists", async () => {
    const { show, run } = await openFakeShow();
    await run(plain);
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      rerun: () => show.resume("x", { rerun: [name] }),
      rerunQuote: () => show.rerunQuote("x", [name]),
      rerunPattern: () => show.rerunQuote("x", [`${name}*`]),
      approve: () => show.approve("x", name),
      reject: () => show.reject("x", name),
      adopt: () => show.adopt("x", name, null),
      candidates: () => show.candidates("x", name),
      concurrency: () =>
        show.quote(plain, {}, { concurrency: { ...(values.limits("--concurrency", `${name}=2`) as object) } }),
      show: () => show.show(name),
    };
    for (const [call, perform] of Object.entries(calls))
      await expect(perform(), call).rejects.toSatisfy(isShowrunnerError);
    const { problems } = await show.quote(plain, {}, { profile: name });
    expect(problems).toMatchObject([{ code: "unknown-profile" }]);
  });

  test("as a code, or an ending of a file, means nothing", () => {
    const error = Object.assign(new Error("said"), { code: name });
    expect(explainError(error)).toMatchObject({ message: expect.any(String), next: expect.any(String) });
    expect(JSON.parse(errorText(error, { log: () => {} })).next).toEqual(
      expect.stringContaining("ask the person".slice(4)),
    );
    expect(kindOfPath(`file.${name}`)).toBeNull();
  });
});

test("a step may be called so, and is made, shown and made again like any other", async () => {
  const named = pipelineOf("named", ({ job }) => ({
    pictures: NAMES.slice(1).map((name) => job(name, models.image, { prompt: name })),
  }));
  const world = await openFakeShow();
  expect(await world.run(named)).toMatchObject({ status: "succeeded" });
  expect(await world.resume({ rerun: ["constructor"], pipeline: named })).toMatchObject({ status: "succeeded" });
  expect(world.paidService.jobs.size).toBe(NAMES.length);
});

test.each(["con", "AUX", "nul.txt", "com1", "a.", "lpt1.log"])("%s names no run", async (id) => {
  const { show } = await openFakeShow();
  await expect(show.run(plain, {}, { id })).rejects.toMatchObject({ code: "INVALID_OPTION" });
});

test("an empty outDir is refused, because it would be the current folder", async () => {
  const { show } = await openFakeShow();
  await expect(show.run(plain, {}, { id: "x", outDir: "" })).rejects.toMatchObject({ option: "outDir" });
});
