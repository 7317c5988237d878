import { expect, test } from "vitest";
import { z } from "zod";
import { equals, failed, not, pipeline, quorum, text } from "../../../src/index.ts";
import { models, openFakeShow, pipelineOf, statusesOf, stepOf } from "../../support/engine.ts";

const story = z.object({ title: z.string(), mood: z.string(), lines: z.array(z.string()) });
const told = { title: "Low tide", mood: "calm", lines: ["sand", "gulls", "boat"] };

const cover = pipeline("cover", {
  input: z.object({ look: z.string() }),
  build: ({ input, takes }) => {
    const best = takes("best", models.image, { prompt: input.look }, { count: 2, choose: "first" });
    return { best, all: best.outputs() };
  },
});

const everything = pipelineOf("everything", ({ approve, chat, choose, expand, include, job, task }) => {
  const script = chat("script", "chat-1", { prompt: "A story." }, { schema: story, maxCost: "0.01" });
  const lines = approve("lines", script.at("lines"), { message: "Are these the lines?" });
  const front = include("front", cover, { look: "a beach" }, { maxCost: "1" });
  const titled = job("titled", models.image, {
    prompt: text`${script.at("title")}: ${lines.at(1)}`,
    images: [front.best],
  });
  const shots = expand(
    "shots",
    lines,
    (all, b) => all.map((line, n) => b.job(`shot-${n}`, models.image, { prompt: line, images: [titled] })),
    { maxSteps: 5, maxCost: "2", yields: "image" },
  );
  const seen = approve("seen", shots);
  const wild = job("wild", models.image, { prompt: "storm" }, { when: equals(script.at("mood"), "wild") });
  const calm = job("calm", models.image, { prompt: "calm" }, { when: not(lines.at(9)) });
  const spare = job("spare", models.image, { prompt: "spare" }, { when: failed(titled) });
  const picked = choose("picked", [spare, wild, titled], { by: "first" });
  const sum = task(
    "sum",
    { pictures: [seen, picked], words: { title: script.at("title"), lines } },
    ({ pictures, words }) => ({ pictures: pictures.length, title: words.title, last: words.lines.at(-1) }),
    { onFailure: quorum(2) },
  );
  return { sum, seen, front, title: script.at("title"), last: sum.at("last"), picked, calm };
});

test("a pipeline with every builder method completes, and its results have the shape of their types", async () => {
  const world = await openFakeShow({ says: () => JSON.stringify(told) });
  const first = await world.run(everything);
  expect(first.status).toBe("paused");
  await world.show.approve("x", "lines");
  const second = await world.resume({ pipeline: everything });
  expect(stepOf(second, "seen").status).toBe("awaiting-approval");
  await world.show.approve("x", "seen");
  const done = await world.resume({ pipeline: everything });
  expect(statusesOf(done)).toEqual({
    ...{ script: "succeeded", lines: "succeeded", titled: "succeeded", wild: "skipped", calm: "succeeded" },
    ...{ "front/best/1": "succeeded", "front/best/2": "skipped", "front/best/pick": "succeeded" },
    ...{ shots: "succeeded", "shots/shot-0": "succeeded", "shots/shot-1": "succeeded", "shots/shot-2": "succeeded" },
    ...{ seen: "succeeded", spare: "skipped", picked: "succeeded", sum: "succeeded" },
  });
  const image = { contentType: "image/png" };
  expect(done.outputs).toMatchObject({
    sum: { pictures: 4, title: "Low tide", last: "boat" },
    seen: [image, image, image],
    front: { best: image, all: [image, null] },
    ...{ title: "Low tide", last: "boat", picked: image, calm: image },
  });
  const titled = [...world.paidService.jobs.values()].map(({ body }) => JSON.stringify(body));
  expect(titled.some((body) => body.includes("Low tide: gulls"))).toBe(true);
});

test("values that steps of an expansion yield lead to further steps", async () => {
  const twice = pipelineOf("twice", ({ chat, expand }) => {
    const script = chat("script", "chat-1", { prompt: "A story." }, { schema: story, maxCost: "0.01" });
    const said = expand(
      "said",
      script.at("lines"),
      (lines, b) => lines.map((prompt, n) => b.chat(`s${n}`, "chat-1", { prompt }, { schema: story, maxCost: "0.01" })),
      { maxSteps: 3, yields: "value" },
    );
    const drawn = expand(
      "drawn",
      said,
      (all, b) => all.map(({ title: prompt }, n) => b.job(`d${n}`, models.image, { prompt })),
      { maxSteps: 3, maxCost: "1" },
    );
    return { said, drawn };
  });
  const world = await openFakeShow({ says: () => JSON.stringify(told) });
  const result = await world.run(twice);
  expect(result).toMatchObject({ status: "succeeded", outputs: { said: [told, told, told], drawn: [{}, {}, {}] } });
});

test.each(["first", "person"] as const)("a choice (%s) among skipped steps is skipped, too", async (by) => {
  const unwanted = pipelineOf("unwanted", ({ chat, choose, job, takes }) => {
    const when = not(chat("script", "chat-1", { prompt: "A story." }, { maxCost: "0.01" }));
    const best = takes("best", models.image, { prompt: "x" }, { count: 2, choose: by, when });
    const two = ["a", "b"].map((name) => job(name, models.image, { prompt: "x" }, { when }));
    return { best, one: choose("one", two, { by }) };
  });
  const world = await openFakeShow({ says: () => "some words" });
  const result = await world.run(unwanted);
  expect(result).toMatchObject({ status: "succeeded", outputs: { best: null, one: null } });
  expect(world.paidService.jobs.size).toBe(0);
});
