/**
 * One contender of `guard.ts`: does a piece of work with the built package of a tree, once cold and some times more, and prints what each
 * took as JSON. It knows the package by its public names alone, so that it runs with trees of any age.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ValueTaskHandle } from "../../src/core/define/index.ts";
import { pooled } from "./harness.ts";

type Package = typeof import("../../src/index.ts");
type Handle = ValueTaskHandle<number>;
type Showrunner = Awaited<ReturnType<Package["openShowrunner"]>>;

interface Work {
  readonly runs: number;
  readonly steps: number;
  /** Steps of a run at once. */
  readonly cap: number;
  /** The time of planning them alone; nothing is made. */
  readonly isPlan?: true;
  /** The steps are jobs on this service, and the time is that until the first of them is submitted. */
  readonly service?: { readonly baseUrl: string; readonly apiKey: string };
}

export interface Took {
  readonly ms: number;
  readonly cpuMs: number;
}

const [tree = "", work = "", rounds = "1"] = process.argv.slice(2);
const { openShowrunner, pipeline } = (await import(pathToFileURL(join(tree, "dist", "index.js")).href)) as Package;
const { z } = await import("zod");
const WIDTH = 100;
const RUNS_AT_ONCE = 20;

/** Steps that do nothing, in layers, each using two of the layer above; the last one's value shows that all of them ran. */
const layered = pipeline("layered", {
  input: z.object({ steps: z.int() }),
  build({ input, task }) {
    const made: Handle[] = [];
    const add = (step: number): Handle => {
      const above = Math.floor(step / WIDTH - 1) * WIDTH;
      const from = above < 0 ? [] : [made[above + (step % WIDTH)]!, made[above + ((step + 1) % WIDTH)]!];
      return task(`step-${step}`, { from }, ({ from: values }: { readonly from: readonly unknown[] }): number => {
        ran += 1;
        return values.length;
      });
    };
    for (let step = 0; step < input.steps; step += 1) made.push(add(step));
    return { last: made.at(-1)! };
  },
});
let ran = 0;

const portraits = pipeline("portraits", {
  input: z.object({ steps: z.int() }),
  build({ input, job }) {
    const jobs = Array.from({ length: input.steps }, (_, at) =>
      job(`portrait-${at}`, "image-1", { prompt: `face ${at}` }),
    );
    return { jobs };
  },
});

/** Returns when the first job was submitted. */
async function submitFirst(show: Showrunner, steps: number, cap: number, outDir: string): Promise<number> {
  const handle = await show.run(portraits, { steps }, { id: "portraits", concurrency: cap, outDir });
  for await (const update of handle.events()) if ("event" in update && update.event.type === "job.submitted") break;
  const submittedAt = performance.now();
  await handle.stop();
  return submittedAt;
}

async function take({ runs, steps, cap, isPlan, service }: Work): Promise<Took> {
  const folder = mkdtempSync(join(tmpdir(), "guard-"));
  const own = {
    baseUrl: "http://127.0.0.1:9/v3",
    apiKey: "bench:none",
    ...service,
    clientOptions: { retry: { maxAttempts: 1 } },
  };
  const show = await openShowrunner({ journal: join(folder, "journal.db"), mediaDir: join(folder, "media"), ...own });
  ran = 0;
  let submittedAt: number | null = null;
  const [at, cpu] = [performance.now(), process.cpuUsage()];
  if (service !== undefined) {
    submittedAt = await submitFirst(show, steps, cap, join(folder, "out"));
  } else if (isPlan) {
    const quote = await show.quote(layered, { steps });
    if (!quote.ok) throw new Error("the bench's own pipeline has problems");
  } else {
    await pooled(runs, RUNS_AT_ONCE, async (index) => {
      const options = {
        id: `run-${index}`,
        concurrency: { total: cap, task: cap },
        outDir: join(folder, "out", String(index)),
      };
      const { status } = await (await show.run(layered, { steps }, options)).result();
      if (status !== "succeeded") throw new Error(`a run ${status}`);
    });
  }
  const ms = (submittedAt ?? performance.now()) - at;
  const { user, system } = process.cpuUsage(cpu);
  await show.close();
  rmSync(folder, { recursive: true, force: true });
  if (!isPlan && service === undefined && ran !== runs * steps) throw new Error(`${ran} steps ran`);
  return { ms, cpuMs: (user + system) / 1000 };
}

const took: Took[] = [];
for (let round = 0; round < Number(rounds); round += 1) took.push(await take(JSON.parse(work) as Work));
console.log(JSON.stringify(took));
process.exit(0);
