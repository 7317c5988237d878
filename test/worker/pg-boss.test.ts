import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPgBossEngine } from "../../src/pg-boss/index.ts";
import { hasPostgres, PostgresCluster } from "../support/postgres.ts";
import { engineContract, localWork } from "./contract.ts";

describe.runIf(hasPostgres("the engine pg-boss"))("With PostgreSQL:", () => {
  let cluster: PostgresCluster;
  let connectionString = "";
  let schemas = 0;
  beforeAll(async () => {
    cluster = await PostgresCluster.start();
    connectionString = await cluster.createDatabase();
  }, 120_000);
  afterAll(() => cluster.remove(), 120_000);

  engineContract("pg-boss", async () => {
    const schema = `boss_${++schemas}`;
    const first = await createPgBossEngine({ connectionString, schema });
    return [first, await createPgBossEngine({ connectionString, schema })];
  });

  test("what a killed process was at is given to another one", { timeout: 240_000 }, async () => {
    const schema = `boss_${++schemas}`;
    const engine = await createPgBossEngine({ connectionString, schema });
    const file = fileURLToPath(new URL("./engine-process.ts", import.meta.url));
    const child = spawn(process.execPath, [file, connectionString, schema], { stdio: ["ignore", "pipe", "inherit"] });
    const said: string[] = [];
    child.stdout.on("data", (chunk: Buffer) => said.push(...chunk.toString().trim().split("\n")));
    try {
      await engine.wake("a");
      await engine.delegate(localWork("a"));
      await expect.poll(() => said.toSorted(), { timeout: 60_000 }).toEqual(["local 1.0", "slice a"]);
      child.kill("SIGKILL");
      await once(child, "exit");
      const killedAt = Date.now();
      const taken: string[] = [];
      const handlers = {
        slice: async (runId: string) => {
          taken.push(`slice ${runId}`);
          return null;
        },
        local: async ({ of }: { readonly of: string }) => void taken.push(`local ${of}`),
      };
      await engine.process(handlers, { slices: 2, local: 2 });
      // Dead is who was not heard from for ten seconds.
      await expect.poll(() => taken.toSorted(), { timeout: 120_000 }).toEqual(["local 1.0", "slice a"]);
      console.log(`taken over ${Date.now() - killedAt} ms after the kill`);
    } finally {
      child.kill("SIGKILL");
      await engine.close({ drainMs: 1_000 });
    }
  });
});
