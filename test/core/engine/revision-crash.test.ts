import { join } from "node:path";
import { expect, test } from "vitest";
import { createMemoryJournal, type ResumeOptions } from "../../../src/index.ts";
import { CrashInjector } from "../../../src/testing/crash-injector.ts";
import { type CrashWorld, inProcess } from "../../support/crash-process.ts";
import { FakePaidService, models, pipelineOf, points } from "../../support/engine.ts";
import { newFolder } from "../../support/temporary-folder.ts";

const folder = newFolder();

/** face → poster, and a jingle; the code later wants another poster, a title, and calls the face a portrait. */
const before = pipelineOf("film", ({ job }) => {
  const face = job("face", models.image, { prompt: "a face" });
  const poster = job("poster", models.image, { prompt: "a poster", images: [face] });
  return { poster, jingle: job("jingle", models.image, { prompt: "a jingle" }) };
});
const after = pipelineOf("film", ({ job }) => {
  const face = job("portrait", models.image, { prompt: "a face" });
  const poster = job("poster", models.image, { prompt: "a blue poster", images: [face] });
  const title = job("title", models.image, { prompt: "a title", images: [poster] });
  return { poster, title, jingle: job("jingle", models.image, { prompt: "a jingle" }) };
});

/** Whether the change is in the journal: who wants it knows by that whether to ask again. */
async function isTaken({ journal }: CrashWorld): Promise<boolean> {
  return (await journal.read("x")).some(({ event }) => event.type === "run.replanned");
}

/** A change, and how often each step is made with it in the end. */
interface Change {
  readonly name: string;
  readonly change: ResumeOptions & { readonly pipeline: typeof before };
  readonly attempts: readonly string[];
  readonly jobs: number;
}

async function lifeWithDeathAt(point: number, { name, change }: Change) {
  const dir = join(folder, name, String(point));
  const paidService = new FakePaidService({ varies: true });
  const world: CrashWorld = { paidService, journal: createMemoryJournal(), dir };
  const neverCrashing = () => new CrashInjector(Number.POSITIVE_INFINITY);
  const outDir = join(dir, "out");
  await inProcess(world, neverCrashing(), async (show) => (await show.run(before, {}, { id: "x", outDir })).result());
  const crashInjector = new CrashInjector(point);
  let result = await inProcess(world, crashInjector, async (show) => (await show.resume("x", change)).result());
  while (result === null) {
    const how = (await isTaken(world)) ? { pipeline: change.pipeline } : change;
    result = await inProcess(world, neverCrashing(), async (show) => (await show.resume("x", how)).result());
  }
  const { heldMicros, settledMicros } = await world.journal.ledger("x");
  const attempts = result.report.steps.map((step) => `${step.path} ${step.status} ${step.attempts.length}`);
  const { size: jobs } = paidService.jobs;
  const { chargedMicros: charged, byKey } = paidService;
  const facts = { status: result.status, attempts, jobs, charged, heldMicros, settledMicros, keys: byKey.size };
  return { mortal: crashInjector, facts };
}

const changes: readonly Change[] = [
  {
    name: "changed code, and a rerun",
    change: { pipeline: after, acceptChanges: true, rerun: ["jingle"] },
    attempts: ["portrait succeeded 1", "poster succeeded 2", "title succeeded 1", "jingle succeeded 2"],
    jobs: 6,
  },
  {
    name: "an edited input",
    change: { pipeline: before, acceptChanges: true, edit: { face: { prompt: "an old face" } }, note: "older" },
    attempts: ["face succeeded 2", "poster succeeded 2", "jingle succeeded 1"],
    jobs: 5,
  },
];

test.each(changes)(
  "killed at every moment of a revision, it is applied once, and paid once: $name",
  async (change) => {
    const { attempts, jobs } = change;
    const calm = await lifeWithDeathAt(Number.POSITIVE_INFINITY, change);
    const micros = jobs * 100_000;
    const money = { charged: micros, settledMicros: micros, heldMicros: 0 };
    expect(calm.facts).toEqual({ status: "succeeded", attempts, jobs, keys: jobs, ...money });
    for (const point of points(calm.mortal.count, 9)) {
      const { facts, mortal: crashInjector } = await lifeWithDeathAt(point, change);
      expect(facts, `killed at ${point}: ${crashInjector.points[point - 1]}`).toEqual(calm.facts);
    }
    console.log(`${change.name}: killed at ${calm.mortal.count} points`);
  },
  120_000,
);
