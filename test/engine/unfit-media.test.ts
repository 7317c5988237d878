import { readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { type Pipeline, pipeline, type RunResult } from "../../src/index.ts";
import { during, type FakeShow, openFakeShow } from "../support/fake-showrunner.ts";
import { MockProvider } from "../support/mock-models.ts";

/** Raw samples have no header that says what they are. */
const PCM = new Uint8Array(48_000).map((_, index) => (index * 37) & 255);

function asking(build: (provider: MockProvider) => object, kind: "speech" | "video"): Pipeline {
  const model = build(new MockProvider());
  const input = kind === "speech" ? { text: "The boat leaves.", outputFormat: "pcm" } : { prompt: "a red boat" };
  return pipeline("asking", {
    input: z.object({}),
    build: ({ generate }) => ({ made: generate("made", model as never, input as never, { maxCost: "0.50" }) }),
  });
}

async function ran(world: FakeShow, of: Pipeline): Promise<RunResult> {
  return during(world.clock, (await world.show.run(of, {}, { id: "x", outDir: world.outDir })).result());
}

/** The bytes are where the reason says, also after a `gc` hours later. */
async function expectKept(world: FakeShow, result: RunResult): Promise<void> {
  const [, sha256] = /in the media folder as ([0-9a-f]{64})/.exec(JSON.stringify(result.report.steps[0])) ?? [];
  for (const name of await readdir(world.mediaDir, { recursive: true })) await utimes(join(world.mediaDir, name), 1, 1);
  expect((await world.show.gc()).media.count).toBe(0);
  const chunks: Uint8Array[] = [];
  for await (const chunk of await world.show.media.read(sha256!)) chunks.push(chunk);
  expect(Buffer.concat(chunks)).toEqual(Buffer.from(PCM));
}

test("what was paid for and is of no known format is kept, and the reason says where", async () => {
  const world = await openFakeShow();
  const answer = { audio: PCM, warnings: [], response: {} };
  const result = await ran(
    world,
    asking((provider) => ({ ...provider.speech(), doGenerate: async () => answer }), "speech"),
  );
  expect(result).toMatchObject({ status: "failed", report: { cost: "0.50", held: "0.00" } });
  await expectKept(world, result);
});

test("so is that of an operation, which is then left to a person", async () => {
  const world = await openFakeShow();
  const answer = { status: "completed", videos: [{ type: "binary", data: PCM, mediaType: "video/mp4" }], response: {} };
  const result = await ran(
    world,
    asking((provider) => ({ ...provider.startingVideo(), doStatus: async () => answer }), "video"),
  );
  expect(result).toMatchObject({ status: "paused", pause: { reason: "unresolved" }, report: { held: "0.50" } });
  await expectKept(world, result);
});
