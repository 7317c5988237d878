import { chmodSync, existsSync, lstatSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { storedToken } from "../../src/cli/commands/dashboard.ts";
import { cli, emptyFolder, startCli } from "./support/cli.ts";
import { firstDocument } from "./support/service.ts";

/** What `serve` prints and says, started with these and stopped. */
async function served(flags: readonly string[], env: Readonly<Record<string, string>>, cwd: string) {
  const { child, end } = startCli(["serve", "--port", "0", "--stub", "--json", ...flags], { cwd, env });
  const { api_key: key } = await firstDocument(child, end);
  const command = existsSync(`/proc/${child.pid}/cmdline`) ? readFileSync(`/proc/${child.pid}/cmdline`, "utf8") : "";
  child.kill("SIGTERM");
  return { key, command, stderr: (await end).stderr };
}

describe("the key of serve", () => {
  test("comes from a file or the environment, and is then in no process list", async () => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, "key"), "from-file:hidden-1\n");
    const variable = { SHOWRUNNER_SERVE_KEY: "from-env:hidden-2" };
    const byFile = await served(["--key-file", "key"], variable, cwd);
    expect([byFile.key, byFile.command.includes("hidden")]).toEqual(["from-file:hidden-1", false]);
    const byEnvironment = await served([], variable, emptyFolder());
    expect([byEnvironment.key, byEnvironment.command.includes("hidden")]).toEqual(["from-env:hidden-2", false]);
    expect(byFile.stderr + byEnvironment.stderr).not.toContain("--key-file");
  });

  test("on the command line works with a warning that names the safer ways", async () => {
    const { key, stderr } = await served(["--key", "shown:secret"], {}, emptyFolder());
    expect(key).toBe("shown:secret");
    expect(stderr).toContain("Every process on this machine");
    expect(stderr).toContain("--key-file");
    expect(stderr).toContain("SHOWRUNNER_SERVE_KEY");
  });

  test("that cannot be read or is none ends the command without repeating it", async () => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, "key"), "hidden-without-colon");
    const missing = await cli(["serve", "--key-file", "absent"], { cwd });
    expect([missing.code, missing.stderr.includes("--key-file")]).toEqual([2, true]);
    const none = await cli(["serve", "--key-file", "key"], { cwd });
    expect([none.code, none.stderr.includes("hidden")]).toEqual([2, false]);
  });
});

test("no command takes a secret as a flag's value without saying so, but for the throw-away key of serve", () => {
  const reference = readFileSync(join(import.meta.dirname, "../../docs/cli.md"), "utf8");
  const flags = [
    ...reference.matchAll(/`(--[\w-]*(?:secret|token|password|credential|api-key|key)[\w-]*)[^`]*`[^\n]*/g),
  ];
  const taking = flags.filter(([line]) => !/idempotency|file/.test(line)).map(([, flag]) => flag);
  expect(taking).toEqual(["--key"]);
});

describe("the dashboard's token", () => {
  const spoiled: readonly (readonly [string, (path: string) => void])[] = [
    ["is readable by a group", (path) => chmodSync(path, 0o640)],
    ["is readable by everyone", (path) => chmodSync(path, 0o604)],
    ["is writable by everyone", (path) => chmodSync(path, 0o602)],
  ];

  test("survives restarts while only its owner can read it", async () => {
    const path = join(emptyFolder(), "dashboard-token");
    const warnings: string[] = [];
    const first = await storedToken(path, { say: (text) => warnings.push(text) });
    expect(await storedToken(path, { say: (text) => warnings.push(text) })).toBe(first);
    expect([statSync(path).mode & 0o777, warnings]).toEqual([0o600, []]);
  });

  test.each(spoiled)("is renewed, with a message, when its file %s", async (_how, spoil) => {
    const path = join(emptyFolder(), "dashboard-token");
    const warnings: string[] = [];
    const first = await storedToken(path, { say: (text) => warnings.push(text) });
    spoil(path);
    const second = await storedToken(path, { say: (text) => warnings.push(text) });
    expect(second).not.toBe(first);
    expect([readFileSync(path, "utf8").trim(), statSync(path).mode & 0o777]).toEqual([second, 0o600]);
    expect(warnings.join()).toContain("other users");
  });

  test("is neither read nor written through a planted link", async () => {
    const folder = emptyFolder();
    const planted = join(folder, "planted");
    writeFileSync(planted, `${"x".repeat(40)}\n`, { mode: 0o600 });
    const path = join(folder, "dashboard-token");
    symlinkSync(planted, path);
    const token = await storedToken(path, { say: () => undefined });
    expect(token).not.toBe("x".repeat(40));
    expect(readFileSync(planted, "utf8")).toBe(`${"x".repeat(40)}\n`);
    expect(lstatSync(path).isSymbolicLink()).toBe(false);
  });
});
