import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { blocksOf } from "../docs/support/code-blocks.ts";
import { isFull } from "../support/sample.ts";
import { type PackageName, type Packed, packages, root } from "./support/packed.ts";

vi.setConfig({ testTimeout: 300_000 });

const blocks = blocksOf("docs/tutorial.md", readFileSync(join(root, "docs/tutorial.md"), "utf8"));
let packed: ReadonlyMap<PackageName, Packed>;

beforeAll(async () => {
  packed = await packages();
});

/** The oldest; a full check types the page on the newest too, and on the one that runs the tests. */
const nodes = [
  { major: 22, version: "22.23.3" },
  ...(isFull
    ? [
        { major: 26, version: "26.9.0" },
        { major: 24, version: null },
      ]
    : []),
];

describe.each(nodes)(
  "on Node $major, from the packed packages in an empty folder, the tutorial",
  ({ major, version }) => {
    test("runs as it is written, down to the films", async () => {
      const folder = mkdtempSync(join(tmpdir(), `showrunner-tutorial-${major}-`));
      const run = shellIn(folder, version === null ? process.execPath : fetchNode(version));
      expect((await run("node --version")).stdout).toMatch(new RegExp(`^v${major}\\.`));

      for (const { language, marks, code } of blocks) {
        const file = marks.find((mark) => mark.startsWith("file="))?.slice("file=".length);
        if (language === "ts" && file !== undefined) writeFileSync(join(folder, file), code);
        if (language !== "sh") continue;
        // Before this command, the tutorial asks for a change by hand.
        if (code.includes("resume trailer --file")) edit(join(folder, "trailer.ts"), "slowly closer", "quickly away");
        for (const line of code.trim().split("\n")) {
          const { code: status, stdout, stderr } = await run(fromTarballs(line));
          // What changed is shown, and nothing is made before somebody agrees.
          expect(status, `${line}\n${stdout}\n${stderr}`).toBe(line.includes("resume trailer --file") ? 3 : 0);
          // SQLite is said to be experimental by Node 22; nothing else may be.
          expect(stderr.replaceAll(/.*ExperimentalWarning: SQLite.*\n|.*--trace-warnings.*\n/g, "")).not.toMatch(
            /Warning:/,
          );
        }
      }
      for (const file of ["first/film.mp4", "trailer/clips-1.mp4", "trailer/clips-2.mp4", "captain/film.mp4"])
        expect(statSync(join(folder, "out", file)).size, file).toBeGreaterThan(50_000);
      const spent = async () => JSON.parse((await run("npx showrunner show trailer --json")).stdout).cost as string;
      expect(await spent()).toBe("0.40");
      const changed = await run("npx showrunner resume trailer --file trailer.ts --local --accept-changes");
      expect(changed.code, changed.stderr).toBe(0);
      // Two clips were made again, and no still.
      expect(await spent()).toBe("0.76");
    });
  },
);

/** A line of the tutorial with the folder that packages are packed into here. */
function fromTarballs(line: string): string {
  if (!line.startsWith("npm i ")) return line;
  return `${line.replace("../showrunner/packed", dirname(packed.get("showrunner")!.file))} --prefer-offline --no-audit --no-fund`;
}

function shellIn(folder: string, node: string) {
  const { SHOWRUNNER_BASE_URL: _url, SHOWRUNNER_API_KEY: _key, SHOWRUNNER_JOURNAL: _journal, ...env } = process.env;
  const variables = {
    ...env,
    PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
    npm_config_update_notifier: "false",
  };
  return (command: string) => {
    const { promise, resolve } = Promise.withResolvers<{ code: number; stdout: string; stderr: string }>();
    execFile("sh", ["-c", command], { cwd: folder, env: variables }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
    return promise;
  };
}

/** Another Node, from npm. @returns its program */
function fetchNode(version: string): string {
  const folder = join(tmpdir(), `showrunner-node-${version}`);
  const program = join(folder, "node_modules/node/bin/node");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true, "allowScripts": { "node": true } }\n');
  // Its script puts the program of this system in place.
  execFileSync("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", `node@${version}`], {
    cwd: folder,
    stdio: "ignore",
  });
  return program;
}

function edit(file: string, from: string, to: string): void {
  const text = readFileSync(file, "utf8");
  expect(text).toContain(from);
  writeFileSync(file, text.replace(from, to));
}
