import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { LIST_MODULES, loadedModules } from "../support/loaded-modules.ts";
import { sourceCommand } from "../support/own-command.ts";
import { cli, emptyFolder } from "./support/cli.ts";

/** Each module is a file there. */
const fromSources = { command: sourceCommand, nodeFlags: ["--import", LIST_MODULES] };

describe("help", () => {
  test("goes to stdout with examples and exit 0", async () => {
    const { code, stdout, stderr } = await cli(["--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("Examples:");
    expect(stdout).toContain("resume");
  });

  test("loads the argument parser and nothing heavier", async () => {
    const { stderr } = await cli(["--help"], fromSources);
    const { packages, own } = loadedModules(stderr);
    expect(packages).toEqual(["commander"]);
    // Single files that import nothing.
    const leaves = /src\/(clean-text|deployments|journal-location|launcher|money|own|own-version|shell-word)\.ts$/;
    expect(own.filter((url) => /src\/(?!cli\/)/.test(url) && !leaves.test(url))).toEqual([]);
  });

  test("leaves by itself: nothing of its own keeps the process until it is ended", async () => {
    const told =
      "data:text/javascript,const { exit } = process; process.exit = () => { console.error('ended'); exit(); };";
    const { code, stderr } = await cli(["--help"], { nodeFlags: ["--import", told] });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test("exists for each command", async () => {
    const { stdout } = await cli(["help", "run"]);
    expect(stdout).toContain("--budget");
  });
});

describe("a command that reads the journal", () => {
  test.each([
    { args: ["runs"], code: 0 },
    { args: ["show", "x"], code: 2 },
  ])("$args starts no local service and loads nothing that sends, checks or measures", async ({ args, code }) => {
    const cwd = emptyFolder();
    const ended = await cli(args, { cwd, ...fromSources });
    expect(ended.code, ended.stderr).toBe(code);
    const { packages, own } = loadedModules(ended.stderr);
    expect(packages.filter((name) => /undici|ajv|re2js|file-type|image-size|mime|mediabunny|hono/.test(name))).toEqual(
      [],
    );
    expect(own.filter((url) => /src\/(local-service|dashboard|migrate|report)\//.test(url))).toEqual([]);
    expect(existsSync(join(cwd, ".showrunner/local"))).toBe(false);
  });
});

describe("wrong usage", () => {
  test.each([
    [["rnu"], "Did you mean run"],
    [["run"], "missing required argument"],
    [["run", "x.ts", "--budgte", "5"], "Did you mean --budget"],
    [[], "Usage: showrunner"],
  ])("%j ends in exit 2, nothing on stdout, and says what to do", async (args, said) => {
    const { code, stdout, stderr } = await cli(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(said);
  });

  test("an amount that is none is refused before anything is opened", async () => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, "p.ts"), "export default 1;");
    const { code, stderr } = await cli(["plan", "p.ts", "--max-unquoted", "lots"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain("--max-unquoted lots is no amount");
  });

  test("--version prints the version", async () => {
    const { code, stdout } = await cli(["--version"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
