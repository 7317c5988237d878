import { readdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Pipeline, RunResult } from "../../../src/index.ts";
import { during, type FakeShow, MockProvider, openFakeShow, pipelineOf, settle } from "../../support/engine.ts";
import { TINY_MP4 } from "../../support/tiny-media.ts";

/** Raw samples have no header that says what they are. */
const PCM = new Uint8Array(48_000).map((_, index) => (index * 37) & 255);

function asking(build: (provider: MockProvider) => object, kind: "speech" | "video", more = {}): Pipeline {
  const model = build(new MockProvider());
  const input = kind === "speech" ? { text: "The boat leaves.", outputFormat: "pcm" } : { prompt: "a red boat" };
  return pipelineOf("asking", ({ generate }) => {
    const made = generate("made", model as never, { ...input, ...more } as never, { maxCost: "0.50" });
    return { made: "n" in more ? (made as unknown as { outputs(): never }).outputs() : made };
  });
}

/** The bytes are where the reason says, also after a `gc` hours later. */
async function expectKept(world: FakeShow, result: RunResult, made: Uint8Array = PCM): Promise<void> {
  const [, sha256] = /in the media folder as ([0-9a-f]{64})/.exec(JSON.stringify(result.report.steps[0])) ?? [];
  for (const name of await readdir(world.mediaDir, { recursive: true })) await utimes(join(world.mediaDir, name), 1, 1);
  expect((await world.show.gc()).media.count).toBe(0);
  const chunks: Uint8Array[] = [];
  for await (const chunk of await world.show.media.read(sha256!)) chunks.push(chunk);
  expect(Buffer.concat(chunks)).toEqual(Buffer.from(made));
}

const FILM = new Uint8Array(TINY_MP4);
const AWAY = "http://127.0.0.1:9";
const FILMS = [
  { type: "url", url: `${AWAY}/first.mp4`, mediaType: "video/mp4" },
  { type: "binary", data: FILM, mediaType: "video/mp4" },
];

function films(provider: MockProvider, repeatable?: true) {
  const options = { maxCost: "0.50", ...(repeatable && { repeatable }) };
  const answer = { videos: FILMS, warnings: [], response: {} };
  const model = { ...provider.video(), maxVideosPerCall: 2, doGenerate: async () => answer };
  return pipelineOf("films", ({ generate }) => {
    const made = generate("made", model as never, { prompt: "a red boat", n: 2 } as never, options as never);
    return { made: (made as unknown as { outputs(): never }).outputs() };
  });
}

const PAUSED = { status: "paused", pause: { reason: "unresolved" }, report: { held: "0.50" } };
const failed = (cost: string) => ({ status: "failed", report: { cost, held: "0.00" } });
const unknown = { audio: PCM, warnings: [], response: {} };
const completed = (videos: object[]) => ({ doStatus: async () => ({ status: "completed", videos, response: {} }) });
const ofNoFormat = completed([{ type: "binary", data: PCM, mediaType: "video/mp4" }]);
const several = { maxVideosPerCall: 2, ...completed(FILMS) };

test.each<[string, Pipeline, object, Uint8Array?]>([
  [
    "is of no known format",
    asking((provider) => ({ ...provider.speech(), doGenerate: async () => unknown }), "speech"),
    failed("0.50"),
  ],
  [
    "is of no known format, of an operation, which is left to a person",
    asking((provider) => ({ ...provider.startingVideo(), ...ofNoFormat }), "video"),
    PAUSED,
  ],
  ["cannot be fetched in part, and a person is told that it was made", films(new MockProvider()), PAUSED, FILM],
  ["cannot be fetched in part, where the request is sent again", films(new MockProvider(), true), failed("1.50"), FILM],
  [
    "cannot be fetched in part, of an operation",
    asking((provider) => ({ ...provider.startingVideo(), ...several }), "video", { n: 2 }),
    PAUSED,
    FILM,
  ],
])("what was paid for and %s is kept, and the reason says where [G1]", async (name, of, end, made) => {
  const world = await openFakeShow({ inside: [AWAY] });
  const result = await world.run(of);
  expect(result).toMatchObject(end);
  const { reason } = result.report.steps[0]!;
  if (name.includes("a person is told"))
    expect(reason).toMatch(/^sent once to mock .*; the result was generated: .*first\.mp4 could not be fetched/);
  await expectKept(world, result, made);
});

test("a media folder that is not there for a while is waited for with what was made, whatever its error", async () => {
  const world = await openFakeShow();
  const { clock, mediaDir } = world;
  const provider = new MockProvider();
  const model = provider.image();
  const broken = async (options: Parameters<typeof model.doGenerate>[0]) => {
    const answer = await model.doGenerate(options);
    await rename(mediaDir, `${mediaDir}.away`);
    await writeFile(mediaDir, "");
    return answer;
  };
  const of = pipelineOf("picture", ({ generate }) => ({
    made: generate("made", { ...model, doGenerate: broken }, { prompt: "a red boat" }, { maxCost: "0.05" }),
  }));
  const { show, outDir } = world;
  const run = await show.run(of, {}, { id: "x", outDir });
  const ended = run.result();
  await settle();
  await clock.advance(60_000);
  await rm(mediaDir);
  await rename(`${mediaDir}.away`, mediaDir);
  expect(await during(clock, ended)).toMatchObject({ status: "succeeded", report: { cost: "0.05" } });
  expect(provider.requests).toHaveLength(1);
});
