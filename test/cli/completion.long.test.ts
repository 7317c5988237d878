import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { compileCache } from "../support/compile-cache.ts";
import { ownCommand } from "../support/own-command.ts";
import { cli, emptyFolder } from "./support/cli.ts";

/** Many processes one after the other, on a machine that may be busy. */
vi.setConfig({ testTimeout: 240_000 });

/** What a real bash offers for a line, after it has read the script. */
async function offered(line: string, cwd = emptyFolder()): Promise<readonly string[]> {
  const { stdout, code } = await cli(["completion", "bash"]);
  expect(code).toBe(0);
  const script = join(emptyFolder(), "completion.bash");
  writeFileSync(script, stdout);
  const words = line.split(" ").map((word) => `'${word}'`);
  const driver = `set -u; showrunner() { "${process.execPath}" "${ownCommand}" "$@"; }; source '${script}'; COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}; _showrunner showrunner; printf '%s\\n' "\${COMPREPLY[@]-}"`;
  const said = execFileSync("bash", ["--norc", "-c", driver], {
    cwd,
    encoding: "utf8",
    env: { PATH: process.env.PATH, ...compileCache },
  });
  return said.split("\n").filter(Boolean).sort();
}

describe("completion in bash", () => {
  test("offers the commands that begin so", async () => {
    expect(await offered("showrunner re")).toEqual([
      "reconcile",
      "record",
      "reject",
      "report",
      "resume",
      "review-link",
    ]);
  });

  test("offers the commands of a group, and the flags of each", async () => {
    expect(await offered("showrunner jobs ")).toEqual(expect.arrayContaining(["follow", "get", "list"]));
    expect(await offered("showrunner api POST /models/m --y")).toEqual(["--yes"]);
    expect(await offered("showrunner run a.ts --b")).toEqual(["--base-url", "--budget"]);
  });

  test("offers files where a command or a flag takes one, also with spaces in their names", async () => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, "film one.ts"), "");
    mkdirSync(join(cwd, "films"));
    expect(await offered("showrunner run fi", cwd)).toEqual(["film one.ts", "films"]);
    expect(await offered("showrunner report r --out fi", cwd)).toEqual(["film one.ts", "films"]);
    expect(await offered("showrunner run a.ts --budget fi", cwd)).toEqual([]);
  });

  test("offers the shells that it knows, and refuses others", async () => {
    expect(await offered("showrunner completion ")).toEqual(expect.arrayContaining(["bash", "fish", "zsh"]));
    const { code, stderr } = await cli(["completion", "cmd"]);
    expect(code).toBe(2);
    expect(stderr).toContain("Allowed choices are bash, zsh, fish");
  });
});

describe("completion in other shells", () => {
  test.each(["zsh", "fish"])(
    "the script for %s asks what may follow, which comes with its description",
    async (shell) => {
      const script = await cli(["completion", shell]);
      expect([script.code, script.stdout]).toEqual([0, expect.stringContaining(`completion ${shell} -- `)]);
      const { stdout } = await cli(["completion", shell, "--", "jobs", "re"]);
      expect(stdout).toBe("");
      const { stdout: found } = await cli(["completion", shell, "--", "files", "up"]);
      expect(found).toBe("upload\tupload a file; free\n");
    },
  );

  test("a word is never run, whatever it looks like", async () => {
    const cwd = emptyFolder();
    await offered("showrunner run $(>made) --b", cwd);
    expect(readdirSync(cwd)).toEqual([]);
  });
});
