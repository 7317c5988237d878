import { expectTypeOf, test } from "vitest";
import { models } from "../../../recipes/models.ts";
import type { RunPause } from "../../../src/core/engine/drive/run-result.ts";
import type { ImageResult, Pipeline, RunResult, Showrunner } from "../../../src/index.ts";
import { pipelineOf } from "../../support/pipelines.ts";

declare const show: Showrunner;
const pictures = pipelineOf("pictures", ({ job, chat, upload }) => {
  const face = job("face", models.image, { prompt: "a lamp", num_outputs: 2 });
  const idea = chat("idea", "some-chat", { prompt: "an idea" });
  const still = upload("still", "still.png");
  return { face: face.output(0), faces: face.outputs(), parts: [face.output(1)] as const, idea, still };
});

async function finished() {
  return (await show.run(pictures, {})).result();
}
type Finished = Awaited<ReturnType<typeof finished>>;
type Succeeded = Extract<Finished, { status: "succeeded" }>;
type Other = Exclude<Finished, { status: "succeeded" }>;

test("outputs of a run that succeeded are there", () => {
  expectTypeOf<Succeeded["outputs"]["face"]>().toEqualTypeOf<ImageResult>();
  expectTypeOf<Succeeded["outputs"]["faces"]>().toEqualTypeOf<readonly ImageResult[]>();
  expectTypeOf<Succeeded["outputs"]["idea"]>().toEqualTypeOf<string>();
});

test("each output of a run that is paused, partial, failed or cancelled may be missing", () => {
  expectTypeOf<Other["outputs"]["face"]>().toEqualTypeOf<ImageResult | null>();
  expectTypeOf<Other["outputs"]["faces"][number]>().toEqualTypeOf<ImageResult | null>();
  expectTypeOf<Other["outputs"]["parts"][0]>().toEqualTypeOf<ImageResult | null>();
  expectTypeOf<Other["outputs"]["idea"]>().toEqualTypeOf<string | null>();
  expectTypeOf<null>().toExtend<Other["outputs"]["still"]>();
});

test("reading a file of a paused run does not compile, nor of one whose status nobody looked at", async () => {
  const result = await finished();
  // @ts-expect-error the picture may not exist yet
  if (result.status === "paused") result.outputs.face.path;
  // @ts-expect-error nor one of a run that ended in part
  if (result.status === "partial") result.outputs.face.path;
  // @ts-expect-error nor before its status is known
  result.outputs.face.path;
  if (result.status === "succeeded") expectTypeOf(result.outputs.face.path).toEqualTypeOf<string>();
});

test("a paused run says why; no other run has a pause", async () => {
  expectTypeOf<Extract<Finished, { status: "paused" }>["pause"]>().toEqualTypeOf<RunPause>();
  expectTypeOf<Succeeded["pause"]>().toEqualTypeOf<null>();
});

test("resume with its pipeline is typed like run; without, nothing is known of what it returns", async () => {
  expectTypeOf(await (await show.resume("x", { pipeline: pictures })).result()).toEqualTypeOf<Finished>();
  expectTypeOf(await (await show.resume("x")).result()).toEqualTypeOf<RunResult>();
  expectTypeOf(await (await show.resume("x", { budget: "2" })).result()).toEqualTypeOf<RunResult>();
  const some: Pipeline = pictures;
  expectTypeOf(await (await show.resume("x", { pipeline: some })).result()).toEqualTypeOf<RunResult>();
});

test("a typed result goes wherever any result goes", async () => {
  expectTypeOf<Finished>().toExtend<RunResult>();
});

test("a choice is a position or the step that made it", async () => {
  await show.approve("x", "look/pick", { pick: 1 });
  await show.approve("x", "look/pick", { pick: "look/2" });
  // @ts-expect-error no handle
  await show.approve("x", "look/pick", { pick: { step: "look/2" } });
});
