import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { startInBackground } from "../../src/cli/host-process.ts";
import { ownVersion } from "../../src/core/kit/own-version.ts";
import { ownCommand } from "../support/own-command.ts";

const [, script] = process.argv;
const mask = process.umask();
afterEach(() => {
  process.argv[1] = script!;
  process.umask(mask);
});

test("a process in the background gets its arguments where no other user sees them, and logs where none reads [process list]", async () => {
  const folder = mkdtempSync(join(tmpdir(), "showrunner-background-"));
  process.argv[1] = join(folder, "told.mjs");
  const source = `import { readFileSync } from "node:fs";
    console.log(JSON.stringify({ shown: process.argv.slice(2), read: JSON.parse(readFileSync(0, "utf8")) }));`;
  writeFileSync(process.argv[1], source);
  process.umask(0);
  const log = join(folder, "logs", "x.log");
  const args = ["run", "x.ts", "--journal", "postgres://me:word@db/x", "-i", "prompt=a secret\nplan"];
  expect(await startInBackground(args, log).ended).toBe(0);
  expect(JSON.parse(readFileSync(log, "utf8"))).toEqual({ shown: ["@stdin"], read: args });
  expect([statSync(dirname(log)).mode & 0o777, statSync(log).mode & 0o777]).toEqual([0o700, 0o600]);
});

test("the command line reads them there", () => {
  const input = JSON.stringify(["--version"]);
  const { stdout } = spawnSync(process.execPath, [ownCommand, "@stdin"], { input });
  expect(String(stdout).trim()).toBe(ownVersion());
});
