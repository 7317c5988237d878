import { afterAll, beforeAll } from "vitest";
import { describeNeeding } from "../../support/absence.ts";
import { lacksPostgres, PostgresCluster } from "../../support/postgres.ts";
import { engineContract } from "./contract.ts";
import { openEngine } from "./engines.ts";
import { takeoverContract } from "./takeover.ts";

describeNeeding(lacksPostgres())("With PostgreSQL:", () => {
  let cluster: PostgresCluster;
  let connectionString = "";
  let schemas = 0;
  beforeAll(async () => {
    cluster = await PostgresCluster.start();
    connectionString = await cluster.createDatabase();
  }, 120_000);
  afterAll(() => cluster.remove(), 120_000);

  const spec = () => ({ kind: "pg-boss", connectionString, schema: `boss_${++schemas}` }) as const;
  engineContract("pg-boss", async () => {
    const same = spec();
    // One after the other: the first lays the tables out.
    const first = await openEngine(same);
    return [first, await openEngine(same)];
  });
  // Dead is who was not heard from for ten seconds.
  takeoverContract(async () => spec());
});
