import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { createClient, createMemoryJournal, openShowrunner, pipeline } from "../../../src/index.ts";
import { models, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { localShow } from "../../support/local-show.ts";

const still = pipeline("still", {
  input: z.object({ prompt: z.string().default("grey") }),
  build: ({ job, input }) => ({ face: job("face", models.image, { prompt: input.prompt }) }),
});

const approved = pipelineOf("approved", ({ job, approve }) => {
  const face = job("face", models.image, { prompt: "grey" });
  return { face: approve("ok", face, { message: "Good?" }) };
});

const world = localShow();

test("a run that this process drives has one handle: of run, resume, a repeated run and follow", async () => {
  const { show, folder } = world;
  const options = { id: "same", outDir: join(folder, "same") };
  const handle = await show.run(still, {}, options);
  const others = await Promise.all([
    show.follow("same"),
    show.resume("same"),
    show.resume("same", { pipeline: still }),
    show.run(still, {}, options),
  ]);
  expect(others.every((other) => other === handle)).toBe(true);
  expect((await handle.result()).status).toBe("succeeded");
});

test("a run of another process is followed without being driven: every event from the first on, then its result", async () => {
  const journal = createMemoryJournal();
  const client = () => createClient({ baseUrl: world.service.baseUrl, apiKey: world.service.apiKey });
  const open = () => openShowrunner({ client: client(), journal, mediaDir: join(world.folder, "media-2") });
  const [driver, looker] = await Promise.all([open(), open()]);
  const handle = await driver.run(still, {}, { id: "elsewhere", outDir: join(world.folder, "elsewhere") });
  const followed = await looker.follow("elsewhere", { pipeline: still });
  expect(await looker.follow("elsewhere")).toBe(followed);
  const seqs: number[] = [];
  for await (const update of followed.events()) if ("event" in update) seqs.push(update.seq);
  const result = await followed.result();
  expect(result.status).toBe("succeeded");
  if (result.status === "succeeded") expect(result.outputs.face.contentType).toMatch(/^image\//);
  expect(seqs).toEqual((await journal.read("elsewhere")).map((_, index) => index + 1));
  await handle.result();
  const late = await looker.follow("elsewhere");
  expect((await late.result()).status).toBe("succeeded");
  await driver.close();
  await looker.close();
});

test("a decision and a resume that come while the run parks are not lost, and never meet its own lease", async () => {
  const { show, folder } = world;
  for (let round = 0; round < 8; round += 1) {
    const id = `parks-${round}`;
    const handle = await show.run(approved, {}, { id, outDir: join(folder, id) });
    for await (const update of handle.events()) if ("event" in update && update.event.type === "run.paused") break;
    await show.approve(id, "ok");
    const again = await show.resume(id, { pipeline: approved });
    expect((await again.result()).status).toBe("succeeded");
  }
});

test("a budget for a run that is driven here is set once it is at rest", async () => {
  const { show, folder } = world;
  await show.run(still, {}, { id: "raised", budget: "1", outDir: join(folder, "raised") });
  const raised = await show.resume("raised", { budget: "2" });
  expect((await raised.result()).status).toBe("succeeded");
});

test("what nobody knows is said to be unknown; what nobody drives any more ends the wait", async () => {
  await expect(world.show.follow("nothing")).rejects.toMatchObject({ code: "RUN_UNKNOWN" });
  const { show, clock } = await openFakeShow({});
  await show.start(still, {}, { id: "left", outDir: join(world.folder, "left") });
  const before = clock.now();
  const handle = await show.follow("left");
  const done = handle.result();
  while (clock.now() - before < 200_000) await clock.advance(1_000);
  expect((await done).pause?.message).toMatch(/no process is driving the run/);
  await show.close();
});
