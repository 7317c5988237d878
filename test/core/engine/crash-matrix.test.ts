import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { stepKinds } from "../../../src/core/plan/index.ts";
import { CrashInjector } from "../../../src/testing/crash-injector.ts";
import { builtInCatalog, newFolder, plainWav, points } from "../../support/engine.ts";
import { factsOf, newWorld, runOnFakeService } from "./fixtures/crash-world.ts";
import { everyKind, localCalls } from "./fixtures/every-kind.ts";

const catalog = builtInCatalog();
const folder = newFolder();
const start = { pipeline: everyKind, input: { sample: join(folder, "sample.wav") } };
beforeAll(() => writeFile(start.input.sample, plainWav(50)));

/** One whole life of a run whose process dies at a boundary, counted from 1. */
async function lifeWithDeathAt(point: number) {
  const world = newWorld(catalog, join(folder, `at-${point}`));
  const crashInjector = new CrashInjector(point);
  localCalls.counts.clear();
  const madeBefore = localCalls.madeElsewhere();
  const result = await runOnFakeService(world, start, crashInjector);
  const facts = await factsOf(world, result);
  await rm(world.dir, { recursive: true, force: true });
  const madeElsewhere = localCalls.madeElsewhere() - madeBefore;
  return { result, facts, mortal: crashInjector, calls: new Map(localCalls.counts), madeElsewhere };
}

test("every kind of step is in the matrix", async () => {
  const { result } = await lifeWithDeathAt(Number.POSITIVE_INFINITY);
  const kinds = new Set(result.report.steps.map(({ kind }) => kind));
  expect([...kinds].sort()).toEqual([...stepKinds].sort());
  expect(result.report.steps.length).toBeGreaterThanOrEqual(12);
});

test("killed at every journal append and every request boundary, a run comes to the same end and pays once [G2 G12]", async () => {
  const calm = await lifeWithDeathAt(Number.POSITIVE_INFINITY);
  const { same } = calm.facts;
  expect(same).toMatchObject({ status: "succeeded", jobs: 13, held: 0 });
  expect(same.jobsInLedger).toBe(same.charged);
  const { count } = calm.mortal;
  const extra = { chats: 0, calls: 0 };

  const chosen = points(count, 80);
  for (const point of chosen) {
    const { facts, calls, mortal: crashInjector, madeElsewhere } = await lifeWithDeathAt(point);
    const where = `killed at ${point}: ${crashInjector.points[point - 1]}`;
    expect(facts.same, where).toEqual(same);
    expect(madeElsewhere, where).toBe(1);
    // Nobody can tell whether a chat that was under way was charged: at most one more, and its maximum is counted.
    const more = facts.chat.asked - calm.facts.chat.asked;
    expect([0, 1], where).toContain(more);
    const { chargedMicros, chatMicros, unconfirmedMicros } = facts.chat;
    expect(chatMicros + unconfirmedMicros, where).toBeGreaterThanOrEqual(chargedMicros);
    extra.chats += more;
    for (const [name, times] of calm.calls) {
      expect(calls.get(name), where).toBeGreaterThanOrEqual(times);
      extra.calls += calls.get(name)! - times;
    }
  }
  console.log(
    `crash matrix: ${chosen.length} of ${count} points over ${same.steps.length} steps of ${stepKinds.length} kinds, each with the same ${same.jobs} jobs and ${same.files.length} files; ${extra.chats} chats and ${extra.calls} calls of local functions more`,
  );
}, 300_000);
