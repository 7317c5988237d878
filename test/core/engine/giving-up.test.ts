import { expect, test } from "vitest";
import { ConnectionError } from "../../../src/core/api/index.ts";
import { openShowrunner } from "../../../src/index.ts";
import { during, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

const TASKS = 30;

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve));
}

test("What a run writes down by itself is no sign of a service that is away: it gives up all the same", async () => {
  const { paidService, clock, journal, mediaDir, outDir } = await openFakeShow();
  const tasksDone = async () => (await journal.read("x")).filter(({ event }) => event.type === "task.completed").length;
  const waiting: (() => void)[] = [];
  let sends = 0;
  // A task is through, and in the journal, right before each send fails.
  const submit = async () => {
    const nth = ++sends;
    if (nth <= TASKS) {
      await until(() => waiting.length > 0);
      waiting.shift()!();
      await until(async () => (await tasksDone()) >= nth);
    }
    throw new ConnectionError("no route", { sent: false });
  };
  const show = await openShowrunner({ client: { ...paidService.client(), submit }, journal, mediaDir, clock });
  const busy = pipelineOf("busy", ({ job, task }) => {
    const begun = () => new Promise<number>((resolve) => void waiting.push(() => resolve(1)));
    let before: unknown = null;
    for (let n = 0; n < TASKS; n++) before = task(`wait-${n}`, { before }, begun).value;
    return { drawn: job("drawn", models.image, { prompt: "a shoe" }) };
  });
  const run = await during(clock, show.run(busy, {}, { id: "x", outDir, giveUpAfterMs: 60_000 }));
  const result = await during(clock, run.result());
  expect(result.pause?.reason).toBe("unreachable");
  expect(await tasksDone()).toBeLessThan(TASKS);
  await show.close();
});
