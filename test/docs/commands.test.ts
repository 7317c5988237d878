import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runCli } from "../../src/cli/program.ts";
import { fakeIo } from "../cli/support/fake-io.ts";
import { codeBlocks, root } from "./support/code-blocks.ts";

const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly scripts: Record<string, string>;
};

/** Every command line of the docs' shell blocks, without prompts, comments and continuations. */
const lines = codeBlocks()
  .filter(({ language }) => language === "sh")
  .flatMap(({ document, code }) =>
    code
      .replace(/\\\n/g, " ")
      .split("\n")
      .map((line) => line.replace(/(^|\s)#.*$/, "").trim())
      .filter(Boolean)
      .flatMap((line) => line.split(/\s*&&\s*/))
      .map((line) => [document, line] as const),
  );

/** The command, with the one of its group where it has any. */
const OURS = /^(?:npx )?showrunner\s+((?:(?:models|jobs|files|keys|tokens|webhooks|drains|notify)\s+)?\S+)(.*)$/;
const ours = lines
  .map(([document, line]) => [document, line, OURS.exec(line)] as const)
  .flatMap(([document, line, found]) => (found ? [[document, line, found[1] ?? "", found[2] ?? ""] as const] : []));

describe("commands in the docs", () => {
  test("are found", () => {
    expect(ours.length).toBeGreaterThan(2);
  });

  test.each(ours)("%s: %s", async (_document, _line, command, rest) => {
    const { io, stdout } = fakeIo();
    expect(await runCli([...command.split(/\s+/), "--help"], io)).toBe(0);
    const help = stdout();
    expect(help).toContain(`showrunner ${command}`);
    const flags = [...rest.matchAll(/(?<=\s)(--?[a-z][\w-]*)/g)].map((match) => match[1] ?? "");
    for (const flag of flags) expect(help).toMatch(new RegExp(`(^|[\\s,])${flag}([\\s,=]|$)`, "m"));
  });

  test("npm scripts named there exist", () => {
    const named = lines.flatMap(([, line]) => /^npm run (\S+)/.exec(line)?.[1] ?? []);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});
