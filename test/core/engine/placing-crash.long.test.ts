import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { utimes } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { temporaryPath, temporaryTag } from "../../../src/core/kit/files.ts";
import { greyPng } from "../../../src/core/kit/placeholder-media.ts";
import { readMarks } from "../../../src/core/marks/index.ts";
import { type FakeShow, models, openFakeShow, pipelineOf, points } from "../../support/engine.ts";

/** Calls on paths in `folder`: from the `dieAt`-th on, counted before and after each, nothing is done any more. */
const disk = vi.hoisted(() => ({ folder: "", dieAt: Number.POSITIVE_INFINITY, count: 0, points: [] as string[] }));

vi.mock("node:fs/promises", async (importOriginal) => {
  const real = await importOriginal<typeof import("node:fs/promises")>();
  const boundary = (name: string) => {
    disk.points.push(name);
    if (++disk.count >= disk.dieAt) throw new Error(`killed at ${name}`);
  };
  const crashInjector = (name: "open" | "copyFile" | "chmod" | "rename" | "rm") => {
    const call = real[name] as (...args: unknown[]) => Promise<unknown>;
    return async (...args: unknown[]) => {
      const isOurs = disk.folder !== "" && args.some((arg) => typeof arg === "string" && arg.startsWith(disk.folder));
      if (isOurs) boundary(`${name}: before`);
      const done = await call(...args);
      try {
        if (isOurs) boundary(`${name}: after`);
        return done;
      } catch (error) {
        if (name === "open") await (done as { close(): Promise<void> }).close();
        throw error;
      }
    };
  };
  const names = ["open", "copyFile", "chmod", "rename", "rm"] as const;
  return { ...real, ...Object.fromEntries(names.map((name) => [name, crashInjector(name)])) };
});

afterEach(() => Object.assign(disk, { folder: "", dieAt: Number.POSITIVE_INFINITY, count: 0, points: [] }));

const two = pipelineOf("two", ({ job }) => {
  const one = job("one", models.image, { prompt: "one" });
  return { one, two: job("two", models.image, { prompt: "two" }) };
});

const namesIn = (folder: string) => readdirSync(folder).sort();

/** A run that dies at a moment of placing, counted from 1, and is then resumed. */
async function lifeWithDeathAt(dieAt: number, marks = false) {
  const { outDir, paidService, run, resume } = await openFakeShow();
  if (marks) paidService.picture = (bytes) => greyPng(8, bytes.charCodeAt(0));
  Object.assign(disk, { folder: outDir, dieAt, count: 0, points: [] });
  const first = await run(two, {}, { marks }).catch((error: Error) => error);
  const { points } = disk;
  const killed = first instanceof Error ? namesIn(outDir) : [];
  Object.assign(disk, { folder: "", dieAt: Number.POSITIVE_INFINITY });
  const done = first instanceof Error ? await resume() : first;
  const says = await Promise.all(["one.png", "two.png"].map((name) => readMarks(join(outDir, name)).catch(() => null)));
  return { done, points, killed, names: namesIn(outDir), jobs: paidService.jobs.size, says };
}

test.each([
  ["as they came", false, 6],
  ["marked", true, 12],
])(
  "killed at any moment of placing and resumed, a run leaves nothing but named files, %s, and manifests [G16]",
  async (_, marks, every) => {
    const calm = await lifeWithDeathAt(Number.POSITIVE_INFINITY, marks);
    const marked = expect.stringContaining("/trainedAlgorithmicMedia");
    for (const file of calm.says) expect(file?.digitalSourceType).toEqual(marks ? marked : null);
    expect(calm.names).toEqual(["one.png", "one.png.json", "two.png", "two.png.json"]);
    expect(calm.points.length).toBeGreaterThan(20);
    let leftBehind = 0;
    for (const at of points(calm.points.length, every)) {
      const { done, names, jobs, killed, says } = await lifeWithDeathAt(at, marks);
      const where = `killed at ${at}, ${calm.points[at - 1]}`;
      expect(done.status, where).toBe("succeeded");
      expect(names, where).toEqual(calm.names);
      expect(says, where).toEqual(calm.says);
      expect(jobs, where).toBe(2);
      if (killed.some((name) => name.endsWith(".part"))) leftBehind += 1;
    }
    expect(leftBehind, "deaths that left a temporary file").toBeGreaterThan(5 / every);
  },
  120_000,
);

/** A finished run, and in its folders: its own old and young remains, and an old one of somebody else. */
async function withRemains({ outDir, journal, run }: FakeShow) {
  await run(two);
  const [first] = await journal.read("x");
  if (first?.event.type !== "run.planned") throw new Error("the run has no plan");
  const own = temporaryTag(first.event.nonce);
  const remains = {
    old: [temporaryPath(outDir, own), temporaryPath(outDir, own)],
    young: temporaryPath(outDir, own),
    foreign: temporaryPath(outDir, temporaryTag("another run")),
    folder: temporaryPath(outDir, own),
  };
  for (const path of [...remains.old, remains.young, remains.foreign]) writeFileSync(path, "half");
  mkdirSync(remains.folder);
  for (const path of [...remains.old, remains.foreign, remains.folder]) await utimes(path, 1, 1);
  return remains;
}

test("gc removes a run's own temporary files that are older than an hour, and nothing else in its folder [G16]", async () => {
  const world = await openFakeShow();
  const { show, outDir } = world;
  const { old } = await withRemains(world);
  const before = namesIn(outDir);
  expect(await show.gc({ dryRun: true })).toMatchObject({ leftovers: 2, runs: [] });
  expect(namesIn(outDir)).toEqual(before);
  expect(await show.gc()).toMatchObject({ leftovers: 2, runs: [] });
  expect(namesIn(outDir)).toEqual(before.filter((name) => !old.includes(join(outDir, name))));
  expect(await show.gc()).toMatchObject({ leftovers: 0 });
});
