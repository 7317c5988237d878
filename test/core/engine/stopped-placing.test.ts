import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { RunHandle } from "../../../src/index.ts";
import { during, models, openFakeShow, pipelineOf } from "../../support/engine.ts";

const two = pipelineOf("two", ({ job }) => {
  const one = job("one", models.image, { prompt: "one" });
  return { one, two: job("two", models.image, { prompt: "two", images: [one] }) };
});

/** Copies of whole media, none that is being fetched. */
function removeCopiesIn(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true }).map(String)) {
    const path = join(folder, name);
    if (!name.startsWith("tmp") && statSync(path).isFile()) rmSync(path);
  }
}

test("A stop while a lost copy is fetched again for its named file is obeyed, and the next resume places it", async () => {
  const downloads: string[] = [];
  let asked = 0;
  let isStopped = false;
  let isWritten = false;
  const started = Promise.withResolvers<RunHandle>();
  const { show, clock, outDir, journal, mediaDir, resume } = await openFakeShow({
    client: ({ download }) => ({
      async download(source, path, options) {
        const signal = options!.signal!;
        const { jobId } = source as { readonly jobId: string };
        asked++;
        signal.throwIfAborted();
        const isAgain = downloads.includes(jobId);
        downloads.push(jobId);
        if (isAgain && !isStopped) {
          isStopped = true;
          // How far the run has come when its handle is there is a matter of moments.
          const run = await started.promise;
          const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
          void run.stop();
          await aborted;
          // It ends only once the stop is in the journal.
          while (!isWritten) await new Promise(setImmediate);
          signal.throwIfAborted();
        }
        return download(source, path, options);
      },
    }),
  });
  const commit = journal.commit.bind(journal);
  let copies = 0;
  journal.commit = async (one) => {
    copies += one.events.filter(({ type }) => type === "output.downloaded").length;
    if (copies === 2) removeCopiesIn(mediaDir);
    if (copies === 2) copies = 0;
    const committed = await commit(one);
    isWritten ||= one.events.some(({ type }) => type === "run.paused");
    return committed;
  };
  const run = await during(clock, show.run(two, {}, { id: "x", outDir }));
  started.resolve(run);
  expect(await during(clock, run.result())).toMatchObject({ status: "paused", pause: { reason: "stopped" } });
  expect(asked).toBe(3);
  expect(await resume()).toMatchObject({ status: "succeeded", report: { cost: "0.20" } });
  expect(readdirSync(outDir).sort()).toEqual(["one.png", "one.png.json", "two.png", "two.png.json"]);
});
