import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmodSync, statSync } from "node:fs";
import { readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findLocalService, LocalServiceError, startLocalService } from "../../src/local-service/index.ts";
import { dataFolder, startProcess } from "./support/killable.ts";
import { finished, frames, made, post, read, start, submit } from "./support/service.ts";

async function codeOf(starting: Promise<unknown>): Promise<string> {
  const error = await starting.catch((reason: unknown) => reason);
  if (!(error instanceof LocalServiceError)) throw new Error(`expected a LocalServiceError, got ${String(error)}`);
  return `${error.code}: ${error.message}`;
}

describe("killed with SIGKILL", () => {
  test("the service finishes every accepted job after a restart, at one price each", async () => {
    const folder = await dataFolder();
    const { service: first, kill } = await startProcess(folder, "never");
    const submitted = (_: unknown, at: number) =>
      submit(first, "image-1", { prompt: `${at}` }, { idempotency_key: `${at}` });
    const acks = await Promise.all(Array.from({ length: 10 }, submitted));
    await kill();
    expect(findLocalService(folder)).toBeNull();
    const second = await start({ dataDir: folder });
    expect(second.apiKey).toBe(first.apiKey);
    for (const ack of acks) {
      const job = await finished(second, ack.job_id);
      expect(job).toMatchObject({ status: "COMPLETED", cost: 0.02 });
      const bytes = await fetch(job.outputs[0].url);
      expect(bytes.headers.get("content-type")).toBe("image/png");
    }
    const replay = await post(second, "/models/image-1", { input: {}, idempotency_key: "3" });
    expect(replay.body.job_id).toBe(acks[3].job_id);
    expect(second.stats()).toMatchObject({ jobs_created: 10, charged_micros: 200_000, refunded_micros: 0 });
    expect((await read(second, "/balance")).balance).toBe(999.8);
  });

  test("in the middle of submits, again and again: no acknowledged job is lost, none is created or charged twice", async () => {
    const folder = await dataFolder();
    const acked = new Map<string, string>();
    for (const killAfter of [1, 7, 20, 3, 40]) {
      const { child, service } = await startProcess(folder);
      let acks = 0;
      let next = acked.size - 5;
      const worker = async (): Promise<void> => {
        for (;;) {
          const idempotency_key = String(Math.max(0, next++));
          const sent = submit(service, "image-1", { prompt: "x" }, { idempotency_key });
          const ack = await sent.catch(() => null);
          if (ack === null) return;
          expect(acked.get(idempotency_key) ?? ack.job_id).toBe(ack.job_id);
          acked.set(idempotency_key, ack.job_id);
          if (++acks === killAfter) child.kill("SIGKILL");
        }
      };
      await Promise.all([...Array.from({ length: 8 }, worker), once(child, "exit")]);
    }
    const service = await start({ dataDir: folder });
    for (const jobId of acked.values()) expect((await finished(service, jobId)).status).toBe("COMPLETED");
    const stats = service.stats();
    expect(stats.jobs_created).toBeGreaterThanOrEqual(acked.size);
    expect(new Set(Object.values(stats.jobs_by_key))).toEqual(new Set([1]));
    expect(stats.charged_micros).toBe(stats.jobs_created * 20_000);
    expect(stats.refunded_micros).toBe(0);
  });

  test("its started jobs say that they were recovered, and nothing half written is left", async () => {
    const folder = await dataFolder();
    const { service: first, kill } = await startProcess(folder, "never");
    const { job_id } = await submit(first, "image-1", { prompt: "x" });
    for (;;) if ((await read(first, `/jobs/${job_id}`)).status === "IN_PROGRESS") break;
    await kill();
    const half = `file_${randomUUID()}`;
    for (const name of [half, `${half}.${randomUUID()}.part`]) await writeFile(join(folder, "incoming", name), "x");
    const second = await start({ dataDir: folder });
    const logs = (await frames(second, job_id)).flatMap(({ event, data }) => (event === "log" ? JSON.parse(data) : []));
    expect(logs.find(({ event }) => event === "recovered")).toMatchObject({ level: "warning", source: "cron" });
    expect(await readdir(join(folder, "incoming"))).toEqual([]);
  });

  test("its lock on the folder is free at once", async () => {
    const folder = await dataFolder();
    const { child, kill } = await startProcess(folder, "never");
    const told = /^DATA_DIR_IN_USE: .*in use by the service at http:\/\/127\.0\.0\.1:\d+\S* \(process (\d+)\)/;
    const [, pid] = told.exec(await codeOf(startLocalService({ dataDir: folder }))) ?? [];
    expect([Number(pid), findLocalService(folder)?.pid]).toEqual([child.pid, child.pid]);
    await kill();
    const { baseUrl, apiKey } = await start({ dataDir: folder });
    expect(findLocalService(folder)).toMatchObject({ pid: process.pid, baseUrl, apiKey });
  });
});

test("state, credential and clock survive an ordinary restart", async () => {
  const folder = await dataFolder();
  const first = await startLocalService({ dataDir: folder, renderer: "stub" });
  const job = await made(first, "image-1", { prompt: "x" });
  await first.clock.advance(3_600_000);
  const then = first.clock.now();
  await first.close();
  const second = await start({ dataDir: folder, balance: 99 });
  expect(second.apiKey).toBe(first.apiKey);
  expect(second.clock.now()).toBeGreaterThanOrEqual(then);
  const again = await read(second, `/jobs/${job.job_id}`);
  expect(again).toMatchObject({ status: "COMPLETED", outputs: [{ asset_id: job.outputs[0].asset_id }] });
  expect((await read(second, "/balance")).balance).toBe(24.98);
});

test("what holds secrets is its owner's alone, also in a folder and a file that others could read before", async () => {
  const folder = await dataFolder();
  chmodSync(folder, 0o755);
  const names = ["service.db", "service.db-wal", "credential", "service.json"];
  const modes = () => new Set(names.map((name) => statSync(join(folder, name)).mode & 0o777));
  const first = await startLocalService({ dataDir: folder, renderer: "stub" });
  expect(modes()).toEqual(new Set([0o600]));
  await first.close();
  chmodSync(join(folder, "service.db"), 0o644);
  const second = await startLocalService({ dataDir: folder, renderer: "stub" });
  expect(modes()).toEqual(new Set([0o600]));
  await second.close();
});

test("two services in one process do not share a folder", async () => {
  const folder = await dataFolder();
  await start({ dataDir: folder });
  expect(await codeOf(startLocalService({ dataDir: folder, renderer: "stub" }))).toContain("DATA_DIR_IN_USE");
});

test("a port in use is a clear error, and leaves the folder free", async () => {
  const folder = await dataFolder();
  const blocker = createServer().listen(0, "127.0.0.1");
  await once(blocker, "listening");
  const address = blocker.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const refused = await codeOf(startLocalService({ dataDir: folder, port, renderer: "stub" }));
  blocker.close();
  expect(refused).toContain(`PORT_IN_USE: Port ${port} on 127.0.0.1 is in use`);
  await start({ dataDir: folder });
});

test("a folder whose database is no database, or is newer, is a clear error", async () => {
  const folder = await dataFolder();
  await writeFile(join(folder, "service.db"), "this is not a database, and longer than its header is ".repeat(9));
  expect(await codeOf(startLocalService({ dataDir: folder }))).toContain("DATA_DIR_UNUSABLE");
  await rm(join(folder, "service.db"));
  const { DatabaseSync } = await import("node:sqlite");
  const newer = new DatabaseSync(join(folder, "service.db"));
  newer.exec("PRAGMA user_version = 99");
  newer.close();
  expect(await codeOf(startLocalService({ dataDir: folder }))).toContain(
    "written by a newer version of Showrunner (schema 99)",
  );
  await writeFile(join(folder, "file"), "");
  expect(await codeOf(startLocalService({ dataDir: join(folder, "file") }))).toContain("DATA_DIR_UNUSABLE");
});

test("an option that makes no sense is refused by name", async () => {
  expect(await codeOf(startLocalService({ speed: 0 }))).toContain("OPTION_INVALID: speed");
  expect(await codeOf(startLocalService({ keys: ["no-colon"] }))).toContain("ID:SECRET");
});
