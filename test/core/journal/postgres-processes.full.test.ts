import { afterAll, beforeAll } from "vitest";
import { callersClock } from "../../../src/core/journal/postgres/leases.ts";
import { openPostgresJournal } from "../../../src/core/journal/postgres.ts";
import { describeNeeding } from "../../support/absence.ts";
import { lacksPostgres, PostgresCluster } from "../../support/postgres.ts";
import { interleavingsContract } from "./interleavings.ts";
import { ledgersContract } from "./ledgers.ts";
import { operationsContract } from "./operations.ts";
import { processesContract } from "./processes.ts";

describeNeeding(lacksPostgres())("On PostgreSQL", () => {
  let cluster: PostgresCluster;
  let url: string;
  let schemas = 0;
  beforeAll(async () => {
    cluster = await PostgresCluster.start({ settings: { fsync: "off", max_connections: 60 } });
    url = await cluster.createDatabase();
  });
  afterAll(() => cluster.remove());
  const place = () => `${url}?schema=s${++schemas}&pool=3`;

  processesContract("PostgreSQL", place);
  interleavingsContract("PostgreSQL", place, 25);
  const open = () => openPostgresJournal(url, { schema: `s${++schemas}` });
  const openWithOwnClock = () =>
    openPostgresJournal(url, { schema: `s${++schemas}`, pollIntervalMs: 50 }, callersClock());
  operationsContract("PostgreSQL", openWithOwnClock, process.env.SHOWRUNNER_TEST_RUNS === undefined ? 40 : 1_000);
  ledgersContract("PostgreSQL", open, process.env.SHOWRUNNER_TEST_RUNS === undefined ? 2_000 : 100_000);
});
