import { rm } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { greyPng } from "../../../src/core/kit/placeholder-media.ts";
import { createMemoryJournal, openShowrunner, type Pipeline, pipeline, type Showrunner } from "../../../src/index.ts";
import { fastFolder } from "../../../src/testing/surroundings.ts";
import { builtInCatalog } from "../../support/built-in-catalog.ts";
import { FakePaidService } from "../../support/fake-paid-service.ts";
import { draw, hoard, leave, refuse, spin } from "./fixtures/isolated-tasks.ts";

const module = pathToFileURL(join(import.meta.dirname, "fixtures/isolated-tasks.ts"));
const journal = createMemoryJournal();
let folder: string;
let show: Showrunner;
beforeAll(async () => {
  folder = await fastFolder("isolated");
  const client = new FakePaidService({ catalog: builtInCatalog() }).client();
  show = await openShowrunner({ client, journal, mediaDir: join(folder, "media"), leaseMs: 600 });
});
afterAll(async () => {
  await show.close();
  await rm(folder, { recursive: true, force: true });
});

const taskOf = (run: () => unknown, limits: object = {}) =>
  pipeline("isolated", {
    input: z.object({}),
    build: ({ task }) => ({ made: task("make", {}, run, { isolate: { module, ...limits } }) }),
  });
const start = (of: Pipeline, id: string) => show.run(of, {}, { id, outDir: join(folder, id) });
const errorOf = async (of: Pipeline, id: string) => {
  const { report } = await (await start(of, id)).result();
  return `${report.steps[0]!.status}: ${report.steps[0]!.reason}`;
};

test("a function in a thread has its input, writes its files, and returns JSON", async () => {
  const bytes = Buffer.from(greyPng(64)).toString("base64");
  const drawn = pipeline("drawn", {
    input: z.object({}),
    build({ task }) {
      const sheet = task("make", { bytes }, draw, { files: { sheet: "image" }, isolate: { module } });
      return { sheet, facts: sheet.value };
    },
  });
  const { status, outputs } = await (await start(drawn, "drawn")).result();
  expect([status, outputs]).toEqual([
    "succeeded",
    { sheet: expect.objectContaining({ width: 64, contentType: "image/png" }), facts: { isMainThread: false } },
  ]);
});

test("one that never pauses is ended at its time limit; meanwhile the process answers and the lease is renewed", async () => {
  const ended = errorOf(taskOf(spin, { timeoutMs: 1_500 }), "spin");
  const leases = new Set<number>();
  let isOver = false;
  void ended.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const lease = (await journal.run("spin"))?.lease;
    if (lease) leases.add(lease.expiresAt);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(await ended).toBe("failed: it did not end within its 1500 ms");
  expect(leases.size).toBeGreaterThan(2);
});

test("a stop ends one that never pauses", async () => {
  const run = await start(taskOf(spin), "stopped");
  const stop = new AbortController();
  const aborted = await show.run(taskOf(spin), {}, { id: "aborted", outDir: folder, signal: stop.signal });
  for (const { events } of [run, aborted])
    for await (const update of events()) if ("event" in update && update.event.type === "step.started") break;
  await run.stop();
  stop.abort();
  expect([(await run.result()).status, (await aborted.result()).status]).toEqual(["paused", "paused"]);
});

test.each([
  ["leaves its process", leave, "its thread ended with code 3 before it returned"],
  ["needs more memory than it may have", hoard, "Worker terminated due to reaching memory limit"],
  ["throws", refuse, "not today"],
] as const)("one that %s fails its try, and nothing else", async (name, run, why) => {
  expect(await errorOf(taskOf(run, { memoryMb: 32 }), name.replaceAll(" ", "-"))).toContain(`failed: ${why}`);
});

test("a function that its module does not export under its name is said, in the plan where it can be known", async () => {
  function hidden() {}
  expect(await errorOf(taskOf(hidden), "hidden")).toContain("exports no function hidden");
  const problems = async (of: Pipeline) => {
    const planned = await show.plan(of, {});
    return planned.ok ? [] : planned.problems.map(({ field, message }) => `${field}: ${message}`);
  };
  expect(await problems(taskOf(() => 1, {}))).toEqual([expect.stringContaining("isolate: the function has no name")]);
  expect(await problems(taskOf(spin, { module: "./x.ts", timeoutMs: 0 }))).toEqual([
    expect.stringContaining("isolate.module: module is the file: URL"),
  ]);
  expect(await problems(taskOf(spin, { timeoutMs: 0 }))).toEqual([
    "isolate.timeoutMs: timeoutMs is a whole number from 1 to 2147483647",
  ]);
});
