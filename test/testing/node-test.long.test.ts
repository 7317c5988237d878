import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");

/** As a user runs node:test, in a process of its own. */
function runNodeTest(file: string) {
  const hook = join(root, "test/docs/support/own-package.ts");
  const { NODE_OPTIONS: _options, ...env } = process.env;
  const args = ["--import", hook, "--test", "--test-reporter", "tap", join(import.meta.dirname, "fixtures", file)];
  return spawnSync(process.execPath, args, { cwd: root, encoding: "utf8", env });
}

test("under node:test the studio runs, and its process ends by itself", () => {
  const { status, stdout } = runNodeTest("paid-once.node-test.ts");
  expect(stdout).toMatch(/# pass 1\n# fail 0/);
  expect(status).toBe(0);
});

test("under node:test a failed assertion is told with its message, and nothing is left running", () => {
  const { status, stdout } = runNodeTest("over-budget.node-test.ts");
  expect(stdout).toMatch(/Run poster-1 exceeded its budget of 0\.01 at event \d+/);
  expect(stdout).toMatch(/# pass 0\n# fail 1/);
  expect(status).toBe(1);
});
