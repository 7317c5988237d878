/** What people's own tests of films and failures come to. */
import { expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../recipes/models.ts";
import { pipeline } from "../../src/index.ts";
import { FILM, HEARD_FILM } from "../../src/local-service/start.ts";
import { assertSucceeded, startStudio } from "../../src/testing/index.ts";
import { MockProvider } from "../support/mock-models.ts";

test("the stub's films have sound where the model makes some", () => {
  const has = (bytes: Uint8Array, box: string) => Buffer.from(bytes).includes(box, 0, "latin1");
  expect([has(HEARD_FILM.bytes, "mp4a"), has(FILM.bytes, "mp4a")]).toEqual([true, false]);
});

test("a run that did not succeed is an error with the reason of each step", async () => {
  await using studio = await startStudio();
  const failing = pipeline("failing", {
    input: z.object({}),
    build({ job, task }) {
      const picture = job("picture", models.image, { prompt: "a kettle" });
      return {
        made: task("cut", { picture }, () => {
          throw new Error("there is nothing to mix");
        }),
      };
    },
  });
  const run = await studio.run(failing, {}, { budget: "1.00" });
  expect(() => assertSucceeded(run)).toThrow(
    /^Run failing-1 is failed.*\n- cut \(failed\): .*there is nothing to mix/s,
  );
  const fine = pipeline("fine", {
    input: z.object({}),
    build: ({ task }) => ({ one: task("one", {}, () => 1).value }),
  });
  const good = await studio.run(fine, {});
  assertSucceeded(good);
  expect(good.outputs.one).toBe(1);
});

test("a kill of a request that its provider cannot be asked about is named in one sentence", async () => {
  await using studio = await startStudio();
  const model = new MockProvider().image();
  const once = pipeline("once", {
    input: z.object({}),
    build: ({ generate }) => ({
      made: generate("made", model as never, { prompt: "x" } as never, { maxCost: "0.10" }),
    }),
  });
  const killed = studio.assertSurvivesKills(once, {});
  await expect(killed).rejects.toThrow(
    /^Killed at boundary \d+ \([^\n]*\): step made sends a paid request that cannot be looked up [^\n]*$/,
  );
});

test.each([
  ["agreed", '"approve" or "reject"', ["rejected", undefined, null, true, { pick: 9 }, { pick: 0 }]],
  ["still/pick", '"reject" or a pick such as { pick: 0 }', ["approve", 0, {}, { pick: "0" }, { pick: 0.5 }]],
])("a decision on %s in another form than %s fails the test, and decides nothing", async (path, forms, others) => {
  await using studio = await startStudio();
  const asking = pipeline("asking", {
    input: z.object({}),
    build: ({ job, takes, approve }) => ({
      still:
        path === "agreed"
          ? approve("agreed", job("still", models.image, { prompt: "a kettle" }))
          : takes("still", models.image, { prompt: "a kettle" }, { count: 2, choose: "person" }),
    }),
  });
  for (const other of others) {
    for (const decided of [other, Promise.resolve(other)]) {
      const run = studio.run(asking, {}, { budget: "1.00", decide: () => decided as never });
      await expect(run).rejects.toThrow(`decide: for ${path}, it must return ${forms}, not `);
    }
  }
  expect(await studio.showrunner.waiting()).toHaveLength(2 * others.length);
  const right = path === "agreed" ? "approve" : { pick: 1 };
  expect((await studio.run(asking, {}, { decide: async () => right as never })).status).toBe("succeeded");
  expect((await studio.run(asking, {}, { decide: async () => "reject" as const })).status).toBe("failed");
});

test.each(["at", "every"])("`%s` must be a whole number of at least 1", async (option) => {
  await using studio = await startStudio();
  const idle = pipeline("idle", {
    input: z.object({}),
    build: ({ task }) => ({ made: task("made", {}, () => 1).value }),
  });
  for (const value of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "2", null])
    await expect(studio.assertSurvivesKills(idle, {}, { [option]: value as never })).rejects.toThrow(
      new RegExp(`^${option} must be a whole number of at least 1; got `),
    );
});
