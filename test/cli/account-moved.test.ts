import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cli, emptyFolder } from "./support/cli.ts";
import { startService } from "./support/service.ts";

const gated = `
import { pipeline } from "showrunner";
import { z } from "zod";
export default pipeline("gated", {
  input: z.object({}),
  build: ({ job, approve }) => ({ bell: approve("gate", job("bell", "image-1", { prompt: "a bell" })) }),
});
`;

test("a run whose service came back on another port is refused with the flag that moves it, and continues with it", async () => {
  const cwd = emptyFolder();
  const data = emptyFolder();
  writeFileSync(join(cwd, "gated.ts"), gated);
  const first = await startService(["--stub", "--balance", "5", "--data", data]);
  const run = await cli(["run", "gated.ts", "--id", "x", "--budget", "1"], { cwd, env: first.env });
  expect(run.code, run.stderr).toBe(3);
  await first.stop();

  await using next = await startService(["--stub", "--balance", "5", "--data", data]);
  await using stranger = await startService(["--stub", "--balance", "5"]);
  expect(next.baseUrl).not.toBe(first.baseUrl);
  const options = { cwd, env: next.env };
  const refused = await cli(["resume", "x"], options);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain("showrunner resume x --account-moved");
  const elsewhere = await cli(["resume", "x", "--account-moved"], { cwd, env: stranger.env });
  expect(elsewhere.code, elsewhere.stderr).toBe(2);
  expect(elsewhere.stderr).toContain("has no access to the jobs");
  const both = await cli(["resume", "x", "--account-moved", "--rerun", "bell"], options);
  expect(both.code).toBe(2);
  expect(both.stderr).toContain("--account-moved cannot be combined with changes to the run; use it first, on its own");

  const moved = await cli(["resume", "x", "--account-moved"], options);
  expect(moved.code, moved.stderr).toBe(3);
  expect(moved.stderr).toContain("was found in this account");
  const done = await cli(["approve", "x", "gate", "--resume"], options);
  expect(done.code, done.stderr).toBe(0);
  expect(done.stderr).toContain("cost $0.02");
});
