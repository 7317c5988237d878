import { expect, test } from "vitest";
import { runCli } from "../../src/cli/program.ts";
import { emptyFolder } from "./support/cli.ts";
import { fakeIo } from "./support/fake-io.ts";

test.each([
  ["serve", "--port", "0", "--stub", "--data", "local"],
  ["dashboard", "--port", "0", "--local"],
])("%s listens to signals before it says that it is ready", async (...args) => {
  const cwd = emptyFolder();
  const { io, stdout } = fakeIo({ cwd });
  const aborted = AbortSignal.abort();
  let saidBefore: string | null = null;
  const watched = {
    ...io,
    get interrupt() {
      saidBefore ??= stdout();
      return aborted;
    },
  };
  const here = process.cwd();
  process.chdir(cwd);
  try {
    expect(await runCli([...args], watched)).toBe(0);
  } finally {
    process.chdir(here);
  }
  expect(stdout()).toMatch(/SHOWRUNNER_BASE_URL|token=/);
  expect(saidBefore).toBe("");
});
