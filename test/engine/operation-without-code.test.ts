import { expect, test } from "vitest";
import { z } from "zod";
import { pipeline } from "../../src/index.ts";
import { during, openFakeShow } from "../support/fake-showrunner.ts";
import { MockProvider } from "../support/mock-models.ts";

test("an operation that was left to a person waits for no code: a resume without its model says the same", async () => {
  const provider = new MockProvider();
  provider.status = () => ({ status: "completed", videos: [] });
  const film = pipeline("film", {
    input: z.object({}),
    build: ({ generate }) => ({
      film: generate("film", provider.startingVideo(), { prompt: "a red boat" }, { maxCost: "0.50" }),
    }),
  });
  const world = await openFakeShow();
  const unresolved = { status: "paused", pause: { reason: "unresolved" }, report: { held: "0.50" } };
  const first = await world.show.run(film, {}, { id: "x", outDir: world.outDir });
  expect(await during(world.clock, first.result())).toMatchObject(unresolved);
  expect(await during(world.clock, (await world.show.resume("x")).result())).toMatchObject(unresolved);
});
