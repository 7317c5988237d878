import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { cli, emptyFolder } from "./support/cli.ts";
import { startService } from "./support/service.ts";

/** Many processes one after the other, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

describe("init", () => {
  test("writes a pipeline that plans and runs as it is", async () => {
    await using service = await startService(["--stub"]);
    const cwd = emptyFolder();
    const { code, stdout, stderr } = await cli(["init", "films/first.ts"], { cwd });
    expect(code).toBe(0);
    expect(stdout.trim()).toBe(join(cwd, "films/first.ts"));
    expect(stderr).toContain("allowImportingTsExtensions");
    expect(stderr).toContain("Next: showrunner plan films/first.ts");
    const run = await cli(["run", "films/first.ts", "--budget", "2", "--json"], { cwd, env: service.env });
    expect(run.code, run.stderr).toBe(0);
  });

  test("overwrites nothing, and adds its line to .gitignore once", async () => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, ".gitignore"), "node_modules/");
    await cli(["init"], { cwd });
    expect(readFileSync(join(cwd, ".gitignore"), "utf8")).toBe("node_modules/\n.showrunner/\n");
    writeFileSync(join(cwd, "film.ts"), "mine");
    const again = await cli(["init"], { cwd });
    expect(again.code).toBe(2);
    expect(again.stderr).toContain("nothing is overwritten");
    expect(readFileSync(join(cwd, "film.ts"), "utf8")).toBe("mine");
    await cli(["init", "other.ts"], { cwd });
    expect(readFileSync(join(cwd, ".gitignore"), "utf8")).toBe("node_modules/\n.showrunner/\n");
  });

  test("a file that is no TypeScript is refused", async () => {
    const { code, stderr } = await cli(["init", "film.txt"]);
    expect(code).toBe(2);
    expect(stderr).toContain("showrunner init film.ts");
  });
});
