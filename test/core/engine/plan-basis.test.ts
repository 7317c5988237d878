import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Catalog, catalogOf } from "../../../src/core/catalog/index.ts";
import type { Handle } from "../../../src/core/define/index.ts";
import type { JournalStore } from "../../../src/core/journal/store.ts";
import type { Pipeline, Showrunner } from "../../../src/index.ts";
import { builtInCatalog, during, models, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { PIXEL } from "../../support/tiny-media.ts";

const runs = Number(process.env.SHOWRUNNER_TEST_RUNS ?? 20);

/** One step, as the code says it now. */
const anySaid = fc.record({
  name: fc.constantFrom("a", "b", "c", "d", "e", "f"),
  kind: fc.constantFrom("job", "task"),
  words: fc.constantFrom("fog", "rain"),
  version: fc.constantFrom("1", "2"),
  attempts: fc.integer({ min: 1, max: 2 }),
  uses: fc.array(fc.nat(5), { maxLength: 2 }),
  isReturned: fc.boolean(),
});
type Said = typeof anySaid extends fc.Arbitrary<infer T> ? T : never;
const anySteps = fc.uniqueArray(anySaid, { minLength: 1, maxLength: 6, selector: ({ name }) => name });
/** The same code, or one of which a step is another. */
const anyEdit = fc.option(fc.tuple(fc.nat(5), anySaid), { nil: null });

const said = (steps: readonly Said[]): Pipeline =>
  pipelineOf("said", ({ job, task }) => {
    const made: Handle<"value" | "image", "single">[] = [];
    const returned: Record<string, Handle<"value" | "image", "single">> = {};
    for (const { name, kind, words, version, attempts, uses, isReturned } of steps) {
      const used = made.length === 0 ? [] : uses.map((use) => made[use % made.length]!);
      const handle =
        kind === "task"
          ? task(name, { words, used }, () => words, { version, attempts })
          : job(name, models.image, { prompt: words }, { attempts, after: used });
      made.push(handle);
      if (isReturned) returned[name] = handle;
    }
    return returned;
  });

/** Writes the run down once more, as an earlier version did: without what its plan was made from. */
async function withoutBasis(journal: JournalStore, runId: string, as: string): Promise<void> {
  const [first] = await journal.read(runId, { limit: 1 });
  if (first?.event.type !== "run.planned") throw new Error("a run begins with its plan");
  const { basis, ...planned } = first.event;
  expect(basis).toMatch(/^b1_[0-9a-f]{64}$/);
  await journal.createRun(as, planned, first.at);
}

/** What the comparison says of a run whose plan need not be made again, which is what it says of one whose plan is. */
async function driftOf(show: Showrunner, code: Pipeline) {
  const { runId: _, committedMicros: __, id: ___, ...drift } = await show.drift("x", code);
  const { runId: ____, committedMicros: _____, id: ______, ...compared } = await show.drift("bare", code);
  expect(drift).toEqual(compared);
  return drift;
}

describe("a plan made from the same is known to be the same without making it", () => {
  test("and every drift is found that a comparison of all steps finds", async () => {
    let [same, others] = [0, 0];
    await fc.assert(
      fc.asyncProperty(anySteps, anyEdit, async (steps, edit) => {
        const { show, clock, journal, run } = await openFakeShow();
        await run(said(steps), {}, { reuse: false });
        await withoutBasis(journal, "x", "bare");
        const edited = edit === null ? steps : steps.with(edit[0] % steps.length, edit[1]);
        const unique = edited.filter(({ name }, index) => edited.findIndex((one) => one.name === name) === index);
        const { isSame } = await during(clock, driftOf(show, said(unique)));
        if (JSON.stringify(steps) === JSON.stringify(unique)) expect(isSame).toBe(true);
        if (isSame) same += 1;
        else others += 1;
      }),
      { numRuns: runs },
    );
    expect(Math.min(same, others)).toBeGreaterThan(0);
  });

  test("also one that comes of the environment, or of a file that changed", async () => {
    const { show, clock, journal, run } = await openFakeShow();
    const picture = join(newFolder(), "face.png");
    writeFileSync(picture, PIXEL);
    let mood = "calm";
    const code = pipelineOf("moody", ({ job, upload }) => ({
      made: job("made", models.image, { prompt: mood, images: [upload("face", picture)] }),
    }));
    await run(code);
    await withoutBasis(journal, "x", "bare");
    expect((await during(clock, driftOf(show, code))).isSame).toBe(true);
    mood = "wild";
    expect((await during(clock, driftOf(show, code))).changed).toMatchObject([{ path: "made" }]);
    mood = "calm";
    writeFileSync(picture, Buffer.concat([PIXEL, Buffer.from([0])]));
    expect((await during(clock, driftOf(show, code))).changed).toMatchObject([{ path: "face" }]);
  });

  test("also one that comes of the catalog: a model that is gone, or that takes something else", async () => {
    const was = builtInCatalog();
    let now: Catalog = was;
    const catalog: Catalog = { ...was, model: (id) => now.model(id) };
    const { show, clock, journal, run } = await openFakeShow({ catalog });
    const code = said([
      { name: "a", kind: "job", words: "fog", version: "1", attempts: 1, uses: [], isReturned: true },
    ]);
    await run(code);
    await withoutBasis(journal, "x", "bare");
    // Models are believed for five minutes.
    const later = () => clock.advance(6 * 60_000);
    const model = was.model(models.image.id)!;
    await later();
    expect((await during(clock, driftOf(show, code))).isSame).toBe(true);
    now = catalogOf([{ ...model, inputSchema: { ...model.inputSchema, required: ["negative_prompt"] } }]);
    await later();
    expect((await during(clock, driftOf(show, code))).problems).toMatchObject([{ step: "a" }]);
  });
});
