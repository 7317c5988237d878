import { createHash } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { utimes } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { openMediaStore } from "../../../src/core/engine/media/folder-store.ts";
import { file, pipeline, type Showrunner } from "../../../src/index.ts";
import { type FakeShow, models, newFolder, OUTPUT_BYTES, openFakeShow, plainWav } from "../../support/engine.ts";

const DAY_MS = 24 * 3_600_000;
const picture = pipeline("picture", {
  input: z.object({ of: z.string() }),
  build: ({ input, job }) => ({ picture: job("picture", models.image, { prompt: input.of }) }),
});
const clone = pipeline("clone", {
  input: z.object({ sample: file("audio"), of: z.string() }),
  build: ({ input, job, upload }) => ({
    picture: job("picture", models.image, { prompt: input.of }),
    voice: job("voice", models.voiceClone, { audio: upload("sample", input.sample), name: "keeper" }),
  }),
});

/** The world's media folder, with every file in it written long ago. */
async function agedMedia({ mediaDir }: FakeShow) {
  const media = await openMediaStore(mediaDir);
  for await (const sha256 of media.hashes()) await utimes(media.path(sha256), 1, 1);
  return async () => {
    const all: string[] = [];
    for await (const sha256 of media.hashes()) all.push(sha256);
    return all.toSorted();
  };
}

/** One upload handle that lapsed long ago, and one that did not. */
async function keepHandles({ journal, clock }: FakeShow): Promise<void> {
  const handle = { account: "a", url: "https://paper.test/files/x", contentType: "image/png" };
  await journal.putHandle({ ...handle, sha256: "lapsed", expiresAt: clock.now() + 1 });
  await journal.putHandle({ ...handle, sha256: "lasting", expiresAt: clock.now() + DAY_MS });
  await clock.advance(1);
}

async function namesOf(show: Showrunner): Promise<readonly string[]> {
  return (await show.runs()).map(({ runId }) => runId);
}

describe("collecting garbage", () => {
  test("removes runs that ended long ago with their media; what younger runs name and what was returned stays", async () => {
    const world = await openFakeShow();
    const { show, clock, outDir } = world;
    const old = await world.run(picture, { of: "a lamp" }, { id: "old" });
    await world.run(picture, { of: "a bell" }, { id: "twin" });
    await clock.advance(31 * DAY_MS);
    const young = await world.run(picture, { of: "a bell" }, { id: "young" });
    const hashes = await agedMedia(world);
    const [gone, shared] = [old, young].map(({ report }) => report.steps[0]!.outputs[0]!.sha256!);
    expect(await hashes()).toEqual([gone, shared].toSorted());
    // The bell is still to be had from the young run.
    const removed = { count: 1, sizeBytes: OUTPUT_BYTES };
    const expected = { runs: ["old", "twin"], skipped: [], reusable: 1, media: removed, handles: 1 };
    await keepHandles(world);
    expect(await show.gc({ dryRun: true })).toMatchObject({ dryRun: true, ...expected });
    expect(await namesOf(show)).toHaveLength(3);
    expect(await hashes()).toHaveLength(2);
    expect(await show.gc()).toMatchObject({ dryRun: false, ...expected });
    expect(await namesOf(show)).toEqual(["young"]);
    expect(await hashes()).toEqual([shared]);
    expect(existsSync(join(outDir, "old", old.report.steps[0]!.outputs[0]!.file!))).toBe(true);
    const none = { runs: [], skipped: [], reusable: 0, media: { count: 0, sizeBytes: 0 }, handles: 0 };
    expect(await show.gc()).toMatchObject({ dryRun: false, ...none });
    expect(await world.journal.handle("lasting", "a")).not.toBeNull();
  });

  test("keeps what a younger run reused from an older one, and that run can be reused in turn", async () => {
    const world = await openFakeShow();
    const { show, clock } = world;
    await world.run(picture, { of: "a lamp" }, { id: "old" });
    await clock.advance(31 * DAY_MS);
    await world.run(picture, { of: "a lamp" }, { id: "young", reuse: true });
    const hashes = await agedMedia(world);
    expect(await show.gc()).toMatchObject({ runs: ["old"], reusable: 0, media: { count: 0 } });
    expect(await hashes()).toHaveLength(1);
    const third = await world.run(picture, { of: "a lamp" }, { id: "third", reuse: true });
    expect([third.cost.micros, world.paidService.jobs.size]).toEqual([0, 1]);
  });

  test("goes by the requested age, and by the end of a run", async () => {
    const world = await openFakeShow();
    await world.run(picture, { of: "a lamp" });
    await world.clock.advance(2 * DAY_MS);
    expect((await world.show.gc({ olderThanMs: 3 * DAY_MS })).runs).toEqual([]);
    expect((await world.show.gc({ olderThanMs: DAY_MS })).runs).toEqual(["x"]);
  });

  test("leaves a run that can go on, with the file that it has yet to upload", async () => {
    const world = await openFakeShow({ balanceMicros: 0 });
    const { show, clock, paidService } = world;
    const sample = join(newFolder(), "sample.wav");
    writeFileSync(sample, plainWav(1000));
    const poor = await world.run(clone, { sample, of: "a lamp" }, { concurrency: 1, startAnyway: true });
    expect(poor.pause?.reason).toBe("funds");
    await clock.advance(90 * DAY_MS);
    const hashes = await agedMedia(world);
    expect((await hashes()).length).toBeGreaterThan(0);
    expect((await show.gc()).runs).toEqual([]);
    const upload = createHash("sha256").update(plainWav(1000)).digest("hex");
    expect(await hashes()).toContain(upload);
    paidService.balanceMicros = 1_000_000;
    expect((await world.resume()).status).toBe("succeeded");
  });

  test("leaves a finished run for which money is held, and says so", async () => {
    const world = await openFakeShow();
    await world.run(picture, { of: "a lamp" }, { id: "x" });
    const { journal, show, clock } = world;
    const held = { ...(await journal.ledger("x")), heldMicros: 20_000 };
    journal.ledger = async () => held;
    journal.removeRun = async () => ({ removed: false, reason: "holds" });
    await clock.advance(31 * DAY_MS);
    const skipped = [{ runId: "x", reason: "holds" }];
    expect(await show.gc({ dryRun: true })).toMatchObject({ runs: [], skipped });
    expect(await show.gc()).toMatchObject({ runs: [], skipped, media: { count: 0 } });
    expect(await namesOf(show)).toEqual(["x"]);
  });

  test("leaves young media alone: the event that names them may be on its way", async () => {
    const world = await openFakeShow();
    await world.run(picture, { of: "a lamp" }, { id: "x" });
    await world.clock.advance(31 * DAY_MS);
    expect(await world.show.gc()).toMatchObject({ runs: ["x"], media: { count: 0 } });
    const hashes = await agedMedia(world);
    expect(await world.show.gc()).toMatchObject({ runs: [], media: { count: 1 } });
    expect(await hashes()).toEqual([]);
  });
});
