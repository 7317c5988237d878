import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openShowrunner } from "../../../src/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { manyPictures } from "./fixtures/many-pictures.ts";
import { type Racer, startRacer } from "./fixtures/racers.ts";

let service: LocalService;
let folder: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  folder = newFolder();
  service = await startLocalService({ renderer: "stub", speed: 20, rateLimit: { requests: 1e6, windowMs: 60_000 } });
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await service.close();
});

async function racer(leaseMs = 30_000): Promise<Racer> {
  const { baseUrl, apiKey } = service;
  const started = await startRacer({ baseUrl, apiKey, folder, leaseMs, count: 12 }, "x");
  children.push(started.child);
  return started;
}

/** A run of twelve jobs, stopped after its first submits. */
async function halfRun(): Promise<void> {
  const { baseUrl, apiKey } = service;
  const show = await openShowrunner({ baseUrl, apiKey, journal: join(folder, "journal.db") });
  const run = await show.run(manyPictures, { count: 12 }, { id: "x", outDir: join(folder, "out"), concurrency: 3 });
  for await (const update of run.events()) if (!("type" in update) && update.event.type === "job.submitted") break;
  await run.stop();
  await show.close();
}

describe.each([2, 4])("%i processes resuming the same run at once", (count) => {
  test("one finishes it, the others leave politely, and every job is paid once [G34]", async () => {
    await halfRun();
    const racers = await Promise.all(Array.from({ length: count }, () => racer()));
    const outcomes = await Promise.all(racers.map(({ go }) => go()));
    const finished = outcomes.filter(({ status }) => status === "succeeded");
    const others = outcomes.filter(({ status }) => status !== "succeeded");
    expect(finished.length).toBeGreaterThanOrEqual(1);
    for (const other of others) expect(other.code).toBe("RUN_BUSY");
    expect(service.stats().jobs_created).toBe(12);
    expect(service.stats().charged_micros).toBe(12 * 20_000);
  });
});

test("a process frozen for longer than its lease is fenced out when it wakes [G34]", async () => {
  await halfRun();
  const frozen = await racer(1000);
  const ended = frozen.go();
  await eventually(() => service.stats().jobs_created >= 4);
  await freezeBetweenCommits(frozen.child);
  const heir = await (async () => {
    for (;;) {
      const outcome = await (await racer()).go();
      if (outcome.code !== "RUN_BUSY") return outcome;
    }
  })();
  expect(heir).toEqual({ status: "succeeded" });
  frozen.child.kill("SIGCONT");
  const woken = await ended;
  expect(woken.code === "RUN_TAKEN_OVER" || woken.status === "succeeded", JSON.stringify(woken)).toBe(true);
  await once(frozen.child, "exit");
  expect(service.stats().jobs_created).toBe(12);
  expect(service.stats().charged_micros).toBe(12 * 20_000);
});

/**
 * Stops a process while it writes nothing. One that is frozen inside a commit keeps SQLite's write lock for as long as
 * it sleeps: everybody else is told so (JOURNAL_BUSY) and nobody can take anything over.
 */
async function freezeBetweenCommits(child: ChildProcess): Promise<void> {
  const probe = new DatabaseSync(join(folder, "journal.db"), { timeout: 0 });
  try {
    for (;;) {
      child.kill("SIGSTOP");
      await eventually(() => readFileSync(`/proc/${child.pid}/stat`, "latin1").includes(") T "));
      if (isFree(probe)) return;
      child.kill("SIGCONT");
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    probe.close();
  }
}

function isFree(probe: DatabaseSync): boolean {
  try {
    probe.exec("BEGIN IMMEDIATE");
    probe.exec("ROLLBACK");
    return true;
  } catch {
    return false;
  }
}

async function eventually(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
