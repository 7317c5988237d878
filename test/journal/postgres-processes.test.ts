import { afterAll, beforeAll, describe } from "vitest";
import { hasPostgres, PostgresCluster } from "../support/postgres.ts";
import { interleavingsContract } from "./interleavings.ts";
import { processesContract } from "./processes.ts";

describe.runIf(hasPostgres("processes that share a PostgreSQL journal"))("On PostgreSQL", () => {
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
});
