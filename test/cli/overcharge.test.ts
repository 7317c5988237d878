import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cli, emptyFolder } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

const bells = `
import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("bells", {
  input: z.object({}),
  build: ({ job }) => ({ bells: [1, 2, 3].map((i) => job("bell-" + i, "image-1", { prompt: "bell " + i })) }),
});
`;

let service: Service;
beforeAll(async () => {
  service = await startService(["--stub", "--balance", "5"]);
});
afterAll(() => service?.stop());

test("a run that was charged beyond its budget reports it and exits 3; so do show, reconcile and the report [G22]", async () => {
  const rules = [{ kind: "charge", factor: 2 }];
  const headers = { "Content-Type": "application/json" };
  const url = new URL("/_local/faults", service.baseUrl);
  expect((await fetch(url, { method: "POST", headers, body: JSON.stringify({ rules }) })).status).toBe(200);
  const options = { cwd: emptyFolder(), env: service.env };
  writeFileSync(join(options.cwd, "bells.ts"), bells);
  const run = await cli(["run", "bells.ts", "--id", "x", "--budget", "0.06", "--json"], options);
  expect(run.code, run.stderr).toBe(3);
  expect(run.stderr).toContain("3 charges exceeded the quote by $0.06 in total, at worst $0.04 instead of $0.02");
  expect(run.stderr).toContain("The run spent $0.06 more than its budget of $0.06");
  expect(JSON.parse(run.stdout)).toMatchObject({
    ...{ status: "succeeded", over_budget: "0.06" },
    overcharges: [{ model: "image-1", times: 3, excess: "0.06", worst: { quoted: "0.02", charged: "0.04" } }],
  });
  expect((await cli(["show", "x"], options)).stdout).toContain("The run spent $0.06 more than its budget");
  const listed = await cli(["reconcile", "x"], options);
  expect(listed.code).toBe(3);
  expect(listed.stderr).toContain("Jobs charged above the quote or the allowed maximum (3)");
  const report = await cli(["report", "x", "--json"], options);
  expect(report.code, report.stderr).toBe(0);
});
