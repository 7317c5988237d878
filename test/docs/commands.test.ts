import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runCli } from "../../src/cli/program.ts";
import { fakeIo } from "../cli/support/fake-io.ts";
import { root } from "./support/code-blocks.ts";
import { shellLines } from "./support/shell-lines.ts";
import { NOT_HERE, reasonOf, WALKS } from "./support/walks.ts";

const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly scripts: Record<string, string>;
};

const typed = shellLines();
const lines = typed.flatMap(({ document, text }) => text.split(/\s*&&\s*/).map((line) => [document, line] as const));

/** The command, with the one of its group where it has any. */
const OURS = /^(?:npx )?showrunner\s+((?:(?:models|jobs|files|notify|skills)\s+)?\S+)(.*)$/;
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

  test("are run or listed with why not, and none is listed that is gone", () => {
    const unknown = typed.filter(({ document, text }) => !WALKS[document] && reasonOf(document, text) === null);
    expect(unknown, "give the page a walk in support/walks.ts, or list the line in NOT_HERE").toEqual([]);
    const stale = Object.entries(NOT_HERE).flatMap(([page, starts]) =>
      Object.keys(starts).filter(
        (start) => !typed.some(({ document, text }) => document === page && (start === "*" || text.startsWith(start))),
      ),
    );
    const settled = Object.entries(WALKS).flatMap(([page, { exits = {}, serves = {} }]) =>
      [...Object.keys(exits), ...Object.keys(serves)].filter(
        (end) => !typed.some(({ document, text }) => document === page && text.endsWith(end)),
      ),
    );
    expect([...stale, ...settled]).toEqual([]);
  });

  test("start with npx, as a project's own installation needs", () => {
    const bare = typed.filter(({ text }) => /^(\w+=('[^']*'|\S+) )*showrunner /.test(text));
    expect(bare).toEqual([]);
  });
});
