import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { LIST_MODULES, loadedModules } from "../support/loaded-modules.ts";
import { sourceCommand } from "../support/own-command.ts";
import { emptyFolder, startCli } from "./support/cli.ts";

/** Each module is a file there. */
const fromSources = { command: sourceCommand, nodeFlags: ["--import", LIST_MODULES] };

describe("help", () => {
  test("loads the argument parser and nothing heavier", async () => {
    const { stderr } = await startCli(["--help"], fromSources).end;
    const { packages, own } = loadedModules(stderr);
    expect(packages).toEqual(["commander"]);
    // Files that import nothing but each other.
    const leaves =
      /src\/core\/kit\/(clean-text|deployments|duration|journal-location|known-secrets|launcher|lookup|money|own-version|value-text)\.ts$/;
    expect(own.filter((url) => /src\/(?!cli\/)/.test(url) && !leaves.test(url))).toEqual([]);
  });

  test("leaves by itself: nothing of its own keeps the process until it is ended", async () => {
    const told =
      "data:text/javascript,const { exit } = process; process.exit = () => { console.error('ended'); exit(); };";
    const { code, stderr } = await startCli(["--help"], { nodeFlags: ["--import", told] }).end;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});

describe("a command that reads the journal", () => {
  test.each([
    { args: ["runs"], code: 0 },
    { args: ["show", "x"], code: 2 },
  ])("$args starts no local service and loads nothing that sends, checks or measures", async ({ args, code }) => {
    const cwd = emptyFolder();
    const ended = await startCli(args, { cwd, ...fromSources }).end;
    expect(ended.code, ended.stderr).toBe(code);
    const { packages, own } = loadedModules(ended.stderr);
    expect(packages.filter((name) => /undici|ajv|re2js|file-type|image-size|mime|mediabunny|hono/.test(name))).toEqual(
      [],
    );
    expect(own.filter((url) => /src\/(local-service|studio|migrate)\//.test(url))).toEqual([]);
    expect(existsSync(join(cwd, ".showrunner/local"))).toBe(false);
  });
});
