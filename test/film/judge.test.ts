import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { models } from "../../recipes/models.ts";
import type { ChatRequest } from "../../src/core/api/index.ts";
import { draft, type StepMethods } from "../../src/core/define/index.ts";
import { greyPng } from "../../src/core/kit/placeholder-media.ts";
import { type Checks, inspect, inspector, type JudgedChecks, type LanguageJudge } from "../../src/film/index.ts";
import { pipeline } from "../../src/index.ts";
import { during, openFakeShow } from "../support/fake-showrunner.ts";
import { newFolder } from "../support/temporary-folder.ts";
import { ffmpeg } from "./support/ffmpeg.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let folder: string;
let black: Buffer;
beforeAll(async () => {
  folder = newFolder();
  const path = join(folder, "black.png");
  await ffmpeg("-v", "error", "-f", "lavfi", "-i", "color=black:s=64x64:d=0.1", "-frames:v", "1", path);
  black = await readFile(path);
});

const judge = { model: "chat-1", asks: "There is a boat.", maxCost: "0.01" };
const judged: JudgedChecks = { notBlack: true, judge };

/** A still that is judged, and what is made of it. */
const stills = (
  by: "accept" | "step",
  checks: Checks | JudgedChecks = judged,
  onFailure: "continue" | "failFast" = "continue",
) =>
  pipeline("stills", {
    input: z.object({}),
    onFailure,
    build({ job, choose, chat, task }) {
      const ask = { prompt: "a boat" };
      const still =
        by === "accept"
          ? job("still", models.image, ask, { accept: inspector(checks), acceptAttempts: 2 })
          : inspect({ task, chat, choose }, "ok", job("still", models.image, ask), checks);
      return { closer: job("closer", models.image, { prompt: "closer", images: [still] }) };
    },
  });

interface World {
  readonly says?: (nth: number) => string;
  /** How many pictures are black, from the first. */
  readonly dark?: number;
}

const verdict = (pass: boolean, ...reasons: readonly string[]) => JSON.stringify({ pass, reasons });

async function ran(made: ReturnType<typeof stills>, { says = () => verdict(true), dark = 0 }: World = {}) {
  const world = await openFakeShow({ says: (_, nth) => says(nth) });
  let left = dark;
  world.paidService.picture = (digest) => (left-- > 0 ? black : greyPng(64, digest.charCodeAt(0)));
  const handle = await during(world.clock, world.show.run(made, {}, { id: "x", outDir: world.outDir }));
  const result = await during(world.clock, handle.result());
  const step = (path: string) => result.report.steps.find((one) => one.path === path);
  const chats = [...world.paidService.chats.values()].map(({ request }) => request);
  return { world, result, step, chats, jobs: world.paidService.jobs.size };
}

/** The pictures that a request shows, as bytes. */
function shown({ messages }: ChatRequest): readonly Buffer[] {
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  const urls = parts.flatMap(({ type, image_url }) => (type === "image_url" ? [image_url.url as string] : []));
  return urls.map((url) => Buffer.from(url.slice("data:image/jpeg;base64,".length), "base64"));
}

describe("a judge by a chat model", () => {
  test("sees a frame as JPEG with what is asked, and what passes goes on", async () => {
    const { result, chats, jobs } = await ran(stills("step"));
    expect([result.status, jobs]).toEqual(["succeeded", 2]);
    expect(chats).toHaveLength(1);
    expect(shown(chats[0]!).map((frame) => frame.subarray(0, 3).toString("hex"))).toEqual(["ffd8ff"]);
    expect(chats[0]).toMatchObject({
      messages: [{ role: "system" }, { role: "user", content: [{ type: "text", text: "There is a boat." }, {}] }],
      response_format: { type: "json_schema" },
    });
  });

  test("fails the step before what uses it is bought, and says why", async () => {
    const { result, step, jobs } = await ran(stills("step"), { says: () => verdict(false, "no boat", "a car") });
    expect([result.status, jobs]).toEqual(["failed", 1]);
    expect(step("ok-check")).toMatchObject({ status: "failed", reason: "no boat; a car" });
    expect(step("ok")).toMatchObject({ status: "skipped" });
  });

  test("is not asked of what is flawed already", async () => {
    const { chats, jobs, step } = await ran(stills("step"), { dark: 1 });
    expect([chats.length, jobs, step("ok-check")?.reason]).toEqual([0, 1, "it is black"]);
  });

  test("without an answer lets nothing pass, and buys no other attempt", async () => {
    const { step, jobs } = await ran(stills("accept"), { says: () => "no idea" });
    expect([jobs, step("still/1-ok-check")?.reason]).toEqual([1, expect.stringContaining("returned no verdict")]);
  });

  test.each(["continue", "failFast"] as const)(
    "with accept another one is made and judged, under %s",
    async (policy) => {
      const says = (nth: number) => verdict(nth > 0, "no boat");
      const { result, chats, jobs, step } = await ran(stills("accept", judged, policy), { says });
      expect([result.status, chats.length, jobs]).toEqual(["succeeded", 2, 3]);
      expect(step("still/1-ok-check")?.reason).toBe("no boat");
    },
  );

  test("with accept a flaw found without it makes another one too", async () => {
    const { result, chats, jobs } = await ran(stills("accept"), { dark: 1 });
    expect([result.status, chats.length, jobs]).toEqual(["succeeded", 1, 3]);
  });

  test("has its price in the plan, and is held to the budget", async () => {
    const world = await openFakeShow({ says: () => verdict(true) });
    const { expectedMicros } = await during(world.clock, world.show.quote(stills("step"), {}));
    // Two pictures, and a verdict at its most.
    expect(expectedMicros).toBe(210_000);
    const poor = world.show.run(stills("step"), {}, { id: "x", budget: "0.205" });
    await expect(during(world.clock, poor)).rejects.toMatchObject({ code: "OVER_BUDGET" });
    expect([world.paidService.chats.size, world.paidService.jobs.size]).toEqual([0, 0]);
  });

  test("is refused for sound, without the methods it needs, and without a question, while the pipeline is planned", () => {
    const planned = (build: (methods: StepMethods) => unknown) =>
      draft(pipeline("p", { input: z.object({}), build: (methods) => ({ out: build(methods) as never }) }), {});
    const speech = planned(({ task, chat, choose, job }) => {
      const sound = job("s", models.speech, { text: "x", voice_id: "v" });
      return inspect({ task, chat, choose }, "ok", sound as never, judged);
    });
    const alone = planned(({ choose, job }) =>
      inspect(choose, "ok", job("s", models.image, { prompt: "x" }), judged as unknown as Checks),
    );
    const said = (drafted: typeof speech) => drafted.draft?.problems.map(({ message }) => message);
    expect(said(speech)).toEqual([
      expect.stringMatching(/^`build` threw an error: the judge of ok can evaluate only images, but s makes audio/),
    ]);
    expect(said(alone)).toEqual([expect.stringContaining('inspect({ task, chat, choose }, "ok", …)')]);
    const refused = expect.objectContaining({ code: "FILM_INPUT" });
    for (const judge of [{ model: "chat-1" }, { asks: "x" }, { model: "", asks: "x" }, null, 1])
      expect(() => inspector({ judge } as never)).toThrow(refused);
  });
});

describe("a judge by a language model of AI SDK", () => {
  const asked: unknown[] = [];
  const answering = (text: string): LanguageJudge => ({
    asks: "There is a boat.",
    model: {
      specificationVersion: "v4",
      provider: "test",
      modelId: "sees",
      async doGenerate(options: never) {
        asked.push(options);
        return {
          content: [
            { type: "reasoning", text: "hm" },
            { type: "text", text },
          ],
        };
      },
    },
  });

  test("gets the frames, and its reasons fail the step", async () => {
    const fenced = `\`\`\`json\n${verdict(false, "no boat")}\n\`\`\``;
    const { jobs, step } = await ran(stills("step", { judge: answering(fenced) }));
    expect([jobs, step("ok")?.reason]).toEqual([1, "no boat"]);
    const data = { type: "data", data: expect.any(Uint8Array) };
    expect(asked[0]).toMatchObject({
      prompt: [{}, { content: [{ text: "There is a boat." }, { type: "file", mediaType: "image/jpeg", data }] }],
    });
    expect(await ran(stills("step", { judge: answering(verdict(true)) }))).toMatchObject({ jobs: 2 });
  });

  test("that says something else has not looked", async () => {
    const { jobs, step } = await ran(stills("step", { judge: answering("yes") }));
    expect([jobs, step("ok")?.reason]).toEqual([1, expect.stringContaining("sees did not return a verdict")]);
  });
});
