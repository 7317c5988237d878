import { test } from "vitest";
import { listText } from "../../src/cli/commands/service.ts";

test("a table's column is a field of its rows in the form that programs get", () => {
  const rows = [{ jobId: "job_1", costMicros: 20_000 }];
  listText(rows, ["job_id", "cost"]);
  // @ts-expect-error: no row has this field, so the column would stay empty
  listText(rows, ["near_runs"]);
  // @ts-expect-error: amounts lose their unit in the name
  listText(rows, ["cost_micros"]);
});
