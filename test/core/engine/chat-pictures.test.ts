import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { MediaBucketError } from "../../../src/core/engine/media/media-errors.ts";
import { apiError, during, greyPng, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

const looks = pipelineOf("looks", ({ job, chat, approve }) => {
  const picture = job("picture", models.image, { prompt: "x" });
  const ok = approve("ok", picture);
  const request = { prompt: "What is it?", images: [picture] };
  return { said: chat("said", "chat-1", request, { maxCost: "0.01", after: ok }) };
});

/** A run whose picture is here and approved, before its chat. `trouble`: what downloads come to. */
async function approved() {
  const downloads: { trouble: (() => Promise<never>) | null } = { trouble: null };
  const world = await openFakeShow({
    says: () => "a boat",
    chatMicros: 5_000,
    client: ({ download }) => ({ download: (...how) => downloads.trouble?.() ?? download(...how) }),
  });
  world.paidService.picture = () => greyPng(8);
  await world.run(looks);
  await world.show.approve("x", "ok");
  const resume = () => world.resume({ pipeline: looks });
  const countOf = async (type: string) =>
    (await world.journal.read("x")).filter(({ event }) => event.type === type).length;
  return { world, downloads, resume, countOf };
}

async function removeFiles(folder: string): Promise<void> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const file of found) if (file.isFile()) await rm(join(file.parentPath, file.name));
}

afterEach(() => vi.restoreAllMocks());

test("a bucket that is away for a minute costs nothing: nothing was sent, and the chat is asked once it is back", async () => {
  const { world, resume, countOf } = await approved();
  const back = world.clock.now() + 60_000;
  const store = Object.getPrototypeOf(world.show.media) as typeof world.show.media;
  const verify = store.verify;
  vi.spyOn(store, "verify").mockImplementation(function (this: typeof store, sha256) {
    if (world.clock.now() >= back) return verify.call(this, sha256);
    return Promise.reject(new MediaBucketError("the bucket did not answer", { reason: "unreachable", next: "" }));
  });
  expect(await resume()).toMatchObject({ status: "succeeded", report: { cost: "0.105", held: "0.00" } });
  expect(world.paidService.chats.size).toBe(1);
  expect([await countOf("chat.abandoned"), await countOf("service.unavailable")]).toEqual([0, 1]);
});

test.each([
  ["a key that is refused", apiError(401, "UNAUTHENTICATED"), "credentials", 1],
  ["a service that is away", apiError(503, "UNAVAILABLE", { retryable: true }), "unreachable", 20],
] as const)("copies that are gone, and %s: said, and paused", async (_, error, reason, most) => {
  const { world, downloads, resume, countOf } = await approved();
  await removeFiles(world.mediaDir);
  downloads.trouble = () => Promise.reject(error);
  expect(await resume()).toMatchObject({ status: "paused", pause: { reason }, report: { held: "0.00" } });
  expect(await countOf("chat.intended")).toBeLessThanOrEqual(most);
});

test("a run that is stopped while the pictures are fetched again sends nothing, and nothing counts as spent", async () => {
  const { world, downloads, resume, countOf } = await approved();
  await removeFiles(world.mediaDir);
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const { promise: broken, reject: breakOff } = Promise.withResolvers<never>();
  downloads.trouble = () => {
    ask();
    return broken;
  };
  const handle = await world.show.resume("x", { pipeline: looks });
  await during(world.clock, asked);
  const stopped = handle.stop();
  breakOff(new Error("broken off"));
  await during(world.clock, stopped);
  expect([world.paidService.chats.size, await countOf("chat.abandoned")]).toEqual([0, 0]);
  downloads.trouble = null;
  expect(await resume()).toMatchObject({ status: "succeeded", report: { cost: "0.105", held: "0.00" } });
});

test("a value's field that is named like our files goes to the model under its own name, also beside pictures", async () => {
  const world = await openFakeShow({ says: () => "a boat" });
  world.paidService.picture = () => greyPng(8);
  const named = pipelineOf("named", ({ job, task, chat }) => {
    const images = [job("picture", models.image, { prompt: "x" })];
    const about = task("about", {}, () => ({ $file: "a.png", $$file: "b.png" }));
    const request = { prompt: "What is it?", images, metadata: about.value };
    return { said: chat("said", "chat-1", request, { maxCost: "0.01" }) };
  });
  expect(await world.run(named)).toMatchObject({ status: "succeeded" });
  expect(JSON.stringify([...world.paidService.chats.values()])).toContain('{"$file":"a.png","$$file":"b.png"}');
});
