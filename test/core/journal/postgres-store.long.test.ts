import { afterAll, beforeAll } from "vitest";
import { callersClock } from "../../../src/core/journal/postgres/leases.ts";
import { openPostgresJournal } from "../../../src/core/journal/postgres.ts";
import { describeNeeding } from "../../support/absence.ts";
import { lacksPostgres, PostgresCluster } from "../../support/postgres.ts";
import { journalContract } from "./contract.ts";

describeNeeding(lacksPostgres())("On PostgreSQL", () => {
  let cluster: PostgresCluster;
  let url: string;
  let schemas = 0;
  beforeAll(async () => {
    cluster = await PostgresCluster.start({ settings: { fsync: "off" } });
    url = await cluster.createDatabase();
  });
  afterAll(() => cluster.remove());

  journalContract("PostgreSQL", (options) => {
    schemas += 1;
    return openPostgresJournal(url, { ...options, schema: `s${schemas}`, pollIntervalMs: 50 }, callersClock());
  });
});
