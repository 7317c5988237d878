import { expect, test } from "vitest";
import { createMemoryJournal } from "../../../src/index.ts";
import { during, models, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { overriding } from "../../support/overriding.ts";

const one = pipelineOf("one", ({ job }) => ({ face: job("face", models.image, { prompt: "grey" }) }));

test("A run that a worker takes before the process that wrote it down is followed, and its result is the same", async () => {
  const inner = createMemoryJournal();
  const worker = await openFakeShow({ journal: inner });
  const works: Promise<unknown>[] = [];
  const journal = overriding(inner, {
    async createRun(...run) {
      const created = await inner.createRun(...run);
      const taken = await worker.show.resume("x");
      works.push(during(worker.clock, taken.result()));
      for await (const update of taken.events()) if ("event" in update) break;
      return created;
    },
  });
  const { run } = await openFakeShow({ journal, paidService: worker.paidService });
  const done = await run(one);
  await Promise.all(works);
  expect([done.status, worker.paidService.submits]).toEqual(["succeeded", 1]);
});
