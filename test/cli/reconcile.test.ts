import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cli, emptyFolder } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

const bell = `
import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("bell", {
  input: z.object({}),
  build: ({ job }) => ({ bell: job("bell", "image-1", { prompt: "a bell" }) }),
});
`;

describe("reconcile", () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService(["--stub", "--balance", "5"]);
  });

  afterAll(() => service?.stop());

  test("reports that all agrees, then lists a job that no run knows, with the command that shows it", async () => {
    const options = { cwd: emptyFolder(), env: service.env };
    writeFileSync(join(options.cwd, "bell.ts"), bell);
    const run = await cli(["run", "bell.ts", "--id", "x", "--budget", "1"], options);
    expect(run.code, run.stderr).toBe(0);
    const calm = await cli(["reconcile", "x"], options);
    expect(calm, calm.stderr).toMatchObject({ code: 0, stdout: "" });
    expect(calm.stderr).toContain("Run x compared: journal, ledger and service agree.");

    const submit = ["api", "/models/image-1", "--data", '{"input":{"prompt":"a stray"}}', "--yes"];
    const stray = JSON.parse((await cli(submit, options)).stdout).job_id;
    const listed = await cli(["reconcile"], options);
    expect(listed.code).toBe(3);
    expect(listed.stdout).toContain(stray);
    expect(listed.stderr).toMatch(/not started by any run in this journal[\s\S]*\(1\)\nNext: showrunner jobs get/);
    const { stdout } = await cli(["reconcile", "--json"], options);
    expect(JSON.parse(stdout)).toMatchObject({
      runs: ["x"],
      orphans: [{ job_id: stray, nearby_runs: ["x"], cost: "0.02" }],
      missing_refunds: [],
    });
  });

  test("of a run that does not exist names the way to those that do", async () => {
    const { code, stderr } = await cli(["reconcile", "nobody"], { env: service.env });
    expect(code).toBe(2);
    expect(stderr).toContain("Next: showrunner runs");
  });
});
