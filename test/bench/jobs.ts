/**
 * Real jobs on the stub renderer, whose service runs in a process of its own: what following, downloading and placing ten
 * thousand of them costs this process, and what that large run costs a new one of a single job.
 */

import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { z } from "zod";
import { openShowrunner, pipeline, type Showrunner } from "../../src/index.ts";
import { cpuMs, inFolder, type Report } from "./harness.ts";
import { startServer } from "./local-service-process.ts";

const portraits = pipeline("portraits", {
  input: z.object({ jobs: z.int() }),
  build({ input, job }) {
    const made = Array.from({ length: input.jobs }, (_, index) => {
      return job(`portrait-${index}`, "image-1", { prompt: `portrait number ${index}` });
    });
    return { made };
  },
});

export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  const jobs = quick ? 500 : 10_000;
  const group = `${jobs.toLocaleString("en")} jobs on the stub renderer, 200 at once`;
  await inFolder(async (folder) => {
    const service = await startServer({ dataDir: join(folder, "service"), maxRunning: 1_000 });
    const showrunner = await openShowrunner({
      journal: join(folder, "journal.db"),
      baseUrl: service.baseUrl,
      apiKey: service.apiKey,
    });
    const alone = await oneJobMs(showrunner, folder);

    const delay = monitorEventLoopDelay({ resolution: 5 });
    const [startedAt, cpu] = [performance.now(), cpuMs()];
    delay.enable();
    const handle = await showrunner.run(portraits, { jobs }, { concurrency: 200, outDir: join(folder, "out") });
    const firstMs = firstSubmitMs(showrunner, handle.id, startedAt);
    const { status } = await handle.result();
    const endedAt = performance.now();
    const cpuUsed = cpuMs() - cpu;
    delay.disable();
    if (status !== "succeeded") throw new Error(`the run ${status}`);

    report.figure(group, "wall time", "s", (endedAt - startedAt) / 1000);
    report.figure(group, "until the first submit, each job priced", "s", (await firstMs) / 1000, { most: 10 });
    report.figure(group, "processor time", "s", cpuUsed / 1000, jobs === 10_000 ? { most: 60 } : undefined);
    report.figure(group, "longest stall of the event loop", "ms", delay.max / 1e6, { most: 100 });
    report.figure(group, "placing, after the last download", "s", (await placingMs(showrunner, handle.id)) / 1000, {
      most: 10,
    });
    report.figure(group, "resident memory at most", "MB", process.resourceUsage().maxRSS / 1000);
    report.figure(group, "a run of one job, before", "ms", alone);
    report.figure(group, "a run of one job, after", "ms", await oneJobMs(showrunner, folder));
    await showrunner.close();
    await service.stop();
  });
}

/** From `startedAt` of this process's clock to the first job that the service has. */
async function firstSubmitMs(showrunner: Showrunner, runId: string, startedAt: number): Promise<number> {
  for await (const { event } of showrunner.events(runId, { follow: true })) {
    if (event.type === "job.submitted") return performance.now() - startedAt;
  }
  throw new Error("nothing was submitted");
}

/** From the last download to the last file under its name, by the journal's own times. */
async function placingMs(showrunner: Showrunner, runId: string): Promise<number> {
  const last = { "output.downloaded": Number.NaN, "file.placed": Number.NaN };
  for await (const { at, event } of showrunner.events(runId)) {
    if (event.type === "output.downloaded" || event.type === "file.placed") last[event.type] = at;
  }
  return last["file.placed"] - last["output.downloaded"];
}

/** The first of them reads the catalog, and is left out. */
async function oneJobMs(showrunner: Showrunner, folder: string): Promise<number[]> {
  const samples: number[] = [];
  for (let round = 0; round < 6; round += 1) {
    const startedAt = performance.now();
    const handle = await showrunner.run(portraits, { jobs: 1 }, { outDir: join(folder, `one-${startedAt}`) });
    await handle.result();
    samples.push(performance.now() - startedAt);
  }
  return samples.slice(1);
}
