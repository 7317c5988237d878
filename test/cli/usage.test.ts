import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { addCommands } from "../../src/cli/program/commands.ts";
import { likelyAddress } from "../../src/core/kit/deployments.ts";
import { cli, emptyFolder } from "./support/cli.ts";

test.each([
  ["http://h:1/v3", null],
  ["http://h:1/v3/", null],
  ["http://h:1/v3/models", "http://h:1/v3"],
  ["http://h:1/a/v12/x/v3", "http://h:1/a/v12"],
  ["http://v3/x", "http://v3/x/v3"],
  ["http://h:1", "http://h:1/v3"],
])("the address %s is probably meant as %s", (given, meant) => {
  expect(likelyAddress(given)).toBe(meant);
});

describe("help", () => {
  test("goes to stdout with examples and exit 0", async () => {
    const { code, stdout, stderr } = await cli(["--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("Examples:");
    expect(stdout).toContain("resume");
  });

  test("exists for each command", async () => {
    const { stdout } = await cli(["help", "run"]);
    expect(stdout).toContain("--budget");
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
    expect(stderr).toContain("--max-unquoted lots is not an amount");
  });

  test("an empty path or URL is refused, whatever the flag", async () => {
    for (const flag of ["--out", "--media", "--base-url", "--journal", "--files", "--each", "--inside"]) {
      const { code, stderr } = await cli(["run", "p.ts", flag, ""]);
      expect(code, stderr).toBe(2);
      expect(stderr).toContain(`${flag}: the value is empty`);
      expect(stderr).toContain(`Next: give a value: ${flag} <`);
    }
  });

  test("every amount may be written with a dollar sign", () => {
    const program = new Command();
    addCommands(program, () => async () => {});
    const read = program.commands.flatMap(({ options }) =>
      options.filter(({ flags }) => flags.includes("<usd>")).map((option) => option.parseArg?.(" $5", undefined)),
    );
    expect(read.length).toBeGreaterThan(10);
    expect(new Set(read)).toEqual(new Set(["5"]));
  });

  test("--version prints the version", async () => {
    const { code, stdout } = await cli(["--version"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
