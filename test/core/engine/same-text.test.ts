import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Pipeline, type ResumeOptions, text } from "../../../src/index.ts";
import { during, isFull, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

const LINE = "Fresh bread from six in the morning";
const OTHER = "Hallo";

/** Speech with captions of its own text and of the same literal, a review, an expansion, and a prompt with the line in it. */
const spoken: Pipeline = pipelineOf("spoken", ({ job, task, approve, chat, expand }) => {
  const speech = job("speech", models.speech, { text: LINE, voice_id: "voice_f9b70f7b" });
  const captions = task("captions", { lines: [{ text: speech.input("text") }], note: "calm" }, (given) => given);
  const title = task("title", { words: text`${speech.input("text")}!` }, ({ words }) => words);
  const old = task("old", { lines: [{ text: LINE }], language: "en" }, (given) => given);
  const poster = job("poster", models.image, { prompt: `A poster that says: ${LINE}` });
  const second = job("second", models.speech, { text: OTHER, voice_id: "voice_f9b70f7b" });
  const secondLines = task("second-lines", { text: OTHER }, (given) => given);
  const words = chat("words", "chat-1", { prompt: "words" }, { schema: z.array(z.string()), maxCost: "0.01" });
  const each = expand(
    "each",
    words,
    (list, within) => list.map((word) => within.job(word, models.image, { prompt: text`${speech.input("text")}` })),
    { maxSteps: 3 },
  );
  return { fine: approve("fine", captions), title, old, poster, secondLines, second, each };
});

async function waiting() {
  const world = await openFakeShow({ says: () => '["one"]' });
  const { clock, show } = world;
  const first = await world.run(spoken);
  expect(first.status).toBe("paused");
  const resume = (how: ResumeOptions) => world.resume({ pipeline: spoken, acceptChanges: true, ...how });
  const drift = (how: Pick<ResumeOptions, "edit" | "everywhere">) => during(clock, show.drift("x", spoken, how));
  const values = async () => {
    const { steps } = await show.show("x");
    return Object.fromEntries(steps.flatMap(({ path, value }) => (value === null ? [] : [[path, value]])));
  };
  return { ...world, resume, drift, values };
}

const NEW = "Fresh bread from five";
const edit = { speech: { text: NEW } };

describe("a text of one step that stands in others", () => {
  test("changes with it where it was taken from its input, in text and in an expansion too", async () => {
    const { resume, values, paidService } = await waiting();
    await resume({ edit, everywhere: false });
    expect(await values()).toMatchObject({
      captions: { lines: [{ text: NEW }], note: "calm" },
      title: `${NEW}!`,
      old: { lines: [{ text: LINE }] },
    });
    const bodies = [...paidService.jobs.values()].map(({ body }) => JSON.parse(body) as { prompt?: string });
    expect(bodies.filter(({ prompt }) => prompt === NEW)).toHaveLength(1);
  });

  test("is named before anything is paid, and an edit that leaves it to a local function is refused", async () => {
    const { resume, drift, paidService } = await waiting();
    const before = paidService.jobs.size;
    const { sameText } = await drift({ edit });
    expect(sameText).toEqual([
      { step: "old", field: "input.lines[0].text", text: LINE, isLocal: true },
      { step: "poster", field: "input.prompt", text: LINE, isLocal: false },
    ]);
    await expect(resume({ edit })).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining("old input.lines[0].text"),
    });
    expect(paidService.jobs.size).toBe(before);
  });

  test("is replaced everywhere on request, and stays so when another edit follows", async () => {
    const { resume, drift, values, show, clock } = await waiting();
    expect((await drift({ edit, everywhere: true })).sameText).toEqual([]);
    await resume({ edit, everywhere: true });
    expect(await values()).toMatchObject({ old: { lines: [{ text: NEW }], language: "en" } });
    expect((await during(clock, show.drift("x", spoken))).isSame).toBe(true);
    await resume({ edit: { speech: { text: `${NEW} again` } }, everywhere: true });
    expect(await values()).toMatchObject({
      captions: { lines: [{ text: `${NEW} again` }] },
      old: { lines: [{ text: `${NEW} again` }] },
    });
  });
});

test("a plan names a local function that repeats what a job is asked with, and what to write in its place", async () => {
  const { show, clock } = await openFakeShow();
  const { warnings } = await during(clock, show.quote(spoken, {}));
  expect(warnings.filter(({ code }) => code === "same-text")).toEqual([
    {
      code: "same-text",
      step: "old",
      message: `input.lines[0].text repeats "${LINE}" from the text of speech: editing one does not change the other. Write the text only in speech; to use it here, call .input("text") on the handle of that step`,
    },
  ]);
});

test("what all takes, or all attempts of a job that is looked at, are asked with goes where a field of a job goes", async () => {
  const made = pipelineOf("made", ({ job, takes, task }) => {
    const looks = takes("looks", models.image, { prompt: "a boat at dawn" }, { count: 2, choose: "first" });
    const accept = () => null;
    const seen = job("seen", models.image, { prompt: "a tree at dusk" }, { accept, acceptAttempts: 2 });
    const labels = task("labels", { a: looks.input("prompt"), b: seen.input("prompt") }, (given) => given);
    return { looks, seen, labels };
  });
  const { show, clock, resume, run } = await openFakeShow();
  const { warnings } = await during(clock, show.quote(made, {}));
  expect(warnings).toEqual([]);
  const { status, report } = await run(made);
  expect(status).toBe("succeeded");
  const value = { a: "a boat at dawn", b: "a tree at dusk" };
  expect(report.steps.find(({ path }) => path === "labels")).toMatchObject({ value });
  // What is edited in one take alone stands in the others still, and is asked about.
  const edit = { "looks/1": { prompt: "a ship at dawn" } };
  const again = { pipeline: made, acceptChanges: true, edit };
  await resume({ ...again, everywhere: true });
  const { steps } = await show.show("x");
  expect(steps.find(({ path }) => path === "labels")).toMatchObject({ value: { ...value, a: "a ship at dawn" } });
});

test("after any edits no step says an old text, unless somebody chose so [G10]", async () => {
  // Of both lines none is a part of the other: a part is replaced within the other as well.
  const said = {
    speech: ["Bread at five", "Bread at five, and rolls", "Ö", LINE],
    second: ["Guten Morgen", "Guten Morgen allerseits", "Tag", OTHER],
  };
  const line = fc.constantFrom("speech" as const, "second" as const);
  const edits = fc.array(
    line.chain((step) => fc.record({ step: fc.constant(step), said: fc.constantFrom(...said[step]) })),
    { minLength: 1, maxLength: 4 },
  );
  await fc.assert(
    fc.asyncProperty(edits, async (sequence) => {
      const { resume, values } = await waiting();
      const now: { [step: string]: string } = { speech: LINE, second: OTHER };
      for (const { step, said } of sequence) {
        if (said === now[step]) continue;
        await resume({ edit: { [step]: { text: said } }, everywhere: true });
        now[step] = said;
        expect(await values()).toMatchObject({
          captions: { lines: [{ text: now.speech }] },
          title: `${now.speech}!`,
          old: { lines: [{ text: now.speech }] },
          "second-lines": { text: now.second },
        });
      }
    }),
    { numRuns: isFull ? 100 : 4 },
  );
});
