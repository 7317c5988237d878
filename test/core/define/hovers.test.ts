import { expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { createMemoryJournal, file, pipeline } from "../../../src/index.ts";
import { hovers } from "../../support/editor.ts";
import { openFakeShow } from "../../support/fake-showrunner.ts";

/** Places in a pipeline, and what the editor must say there beside the type. */
const taught: readonly (readonly [needle: string, said: RegExp])[] = [
  ["pipeline(", /Defines a pipeline\. Throws/],
  ["job(", /Adds a paid job/],
  ["upload(", /Adds a file for jobs and tasks, free of charge/],
  ["chat(", /Adds a request to a chat model\. Chats have no idempotency key/],
  ["task(", /Adds a local function\. It runs again after a crash/],
  ["approve(", /Adds an approval/],
  ["choose(", /still paid for/],
  ["takes(", /Adds several takes of one job/],
  ["expand(", /Adds steps that depend on/],
  ["include(", /Adds another pipeline's steps/],
  ["text`", /wherever an input accepts text/],
  ["maxCost:", /cost of one attempt/],
  ["count:", /umber of takes/],
  ["maxSteps:", /umber of steps/],
  ["openShowrunner(", /Opens the journal/],
  ["plan(whole", /returns the plan/],
  ["quote(whole", /the quote's id/],
  ["run(whole", /Plans and prices the pipeline, then executes the run/],
  ["budget:", /run may cost/],
  ["resume(", /Continues a run/],
  ['approve("r"', /Approves a step/],
  ["pick:", /counted from 0/],
  ["result()", /Resolves when the run/],
  ["pause.", /./],
  ["fundingUrl", /adding funds/],
  ["outputs.still", /all others are null/],
];

test("the editor says what each word, option and method does, where it is used", async () => {
  const source = `import { openShowrunner, pipeline, text } from "showrunner";
import { z } from "zod";
const part = pipeline("part", { input: z.object({}), build: ({ job }) => ({ a: job("a", "x", {}) }) });
const whole = pipeline("whole", {
  input: z.object({}),
  build({ job, upload, chat, task, approve, choose, takes, expand, include }) {
    const still = upload("still", "still.png");
    const idea = chat("idea", "some", { prompt: "an idea" }, { maxCost: "1" });
    const one = job("one", "x", { prompt: text\`A \${idea}\`, still });
    const made = task("made", { one }, () => 1);
    const fine = approve("fine", one);
    const look = takes("look", "x", {}, { count: 2, choose: "first" });
    const best = choose("best", [fine, look], { by: "first" });
    const shots = expand("shots", idea, (value, b) => [b.job("s", "x", { value })], { maxSteps: 3 });
    const other = include("other", part, {});
    return { still, made, best, shots, ...other };
  },
});
const show = await openShowrunner();
await show.plan(whole, {});
await show.quote(whole, {});
const handle = await show.run(whole, {}, { budget: "1" });
await show.resume("r");
await show.approve("r", "fine", { pick: 1 });
const result = await handle.result();
if (result.status === "paused") console.log(result.pause.fundingUrl, result.outputs.still);
`;
  const shown = await hovers(source, [...new Set(taught.map(([needle]) => needle))]);
  const wrong = taught.filter(([needle, said]) => !said.test(shown.get(needle) ?? ""));
  expect(wrong.map(([needle]) => [needle, shown.get(needle)])).toEqual([]);
});

test("a value in a template without the tag is a problem that names the tag; a file without upload names upload", async () => {
  const { show } = await openFakeShow({ journal: createMemoryJournal() });
  const untagged = pipeline("untagged", {
    input: z.object({}),
    build({ chat, job }) {
      const idea = chat("idea", "chat-1", { prompt: "an idea" }, { maxCost: "1" });
      return { face: job("face", models.image, { prompt: `A ${idea}` }) };
    },
  });
  const planned = await show.plan(untagged, {});
  expect(planned).toMatchObject({
    ok: false,
    problems: [{ message: expect.stringContaining("tag the template with text") }],
  });
  const bare = pipeline("bare", {
    input: z.object({ sample: file("image") }),
    build({ input, job }) {
      // @ts-expect-error a file on this machine where media of the service goes
      return { face: job("face", models.image, { prompt: "x", images: [input.sample] }) };
    },
  });
  const other = await show.plan(bare, { sample: "a.png" });
  const message = expect.stringContaining('a file on this machine; pass upload("name", file)');
  expect(other).toMatchObject({ ok: false, problems: [{ step: "face", message }] });
  const untyped = pipeline("untyped", {
    input: z.object({ sample: file("image") }),
    build: ({ input, job }) => ({ face: job("face", "image-1", { prompt: "x", images: [{ ...input.sample }] }) }),
  });
  expect(await show.plan(untyped, { sample: "a.png" })).toMatchObject({ problems: [{ step: "face", message }] });
  await show.close();
});
