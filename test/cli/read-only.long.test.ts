import { chmodSync, chownSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openSqliteJournal } from "../../src/core/journal/sqlite.ts";
import { planned } from "../core/journal/samples.ts";
import { emptyFolder, startCli } from "./support/cli.ts";

/** Modes of files count for everybody but root. */
const NOBODY = 65_534;

test("a journal in a folder that cannot be written is looked at, and changed by no command", async () => {
  const cwd = emptyFolder();
  const folder = join(cwd, ".showrunner");
  const journal = await openSqliteJournal(join(folder, "journal.db"));
  await journal.createRun("kept", planned(), 10);
  await journal.close();
  mkdirSync(join(folder, "media"));
  const uid = process.getuid?.() === 0 ? NOBODY : undefined;
  onTestFinished(() => {
    for (const path of [cwd, folder, join(folder, "media")]) chmodSync(path, 0o755);
  });
  for (const path of [join(folder, "media"), join(folder, "journal.db"), folder, cwd]) {
    if (uid !== undefined) chownSync(path, uid, uid);
    chmodSync(path, path.endsWith(".db") ? 0o444 : 0o555);
  }
  const env = {
    SHOWRUNNER_API_KEY: "key:secret",
    SHOWRUNNER_BASE_URL: "http://127.0.0.1:9/v3",
    NODE_COMPILE_CACHE: "",
  };
  const run = (...args: readonly string[]) => startCli(args, { cwd, env, ...(uid !== undefined && { uid }) }).end;

  expect(await run("runs")).toMatchObject({ code: 0, stdout: expect.stringContaining("kept") });
  expect(await run("show", "kept", "--json")).toMatchObject({ code: 0, stdout: expect.stringContaining('"kept"') });
  expect(await run("events", "kept")).toMatchObject({ code: 0, stdout: expect.stringContaining("run.planned") });
  const stop = await run("stop", "kept");
  expect(stop).toMatchObject({ code: 2, stderr: expect.stringContaining("This user cannot write to the journal") });
  expect(stop.stderr).toContain("--journal FILE");
  const doctor = await run("doctor");
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toMatch(/FAIL {2}journal .*can be read but not written to/);
  expect(doctor.stdout).toMatch(/FAIL {2}media .*cannot be created or written to/);
  expect(doctor.stderr).toContain(`make the folder ${folder} and the journal's files writable`);
  expect(readdirSync(folder).sort()).toEqual(["journal.db", "media"]);
});
