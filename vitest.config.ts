import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defaultExclude, defineConfig } from "vitest/config";
import { filesAskingForPrograms } from "./test/support/absent-programs.ts";
import { compileCache } from "./test/support/compile-cache.ts";
import { failedTests, flakyTests } from "./test/support/failed-tests.ts";
import { LongestFirst } from "./test/support/longest-first.ts";
import { skippedTests } from "./test/support/skipped-tests.ts";
import { temporaryFolder } from "./test/support/temporary-folder.ts";

// For every process that a test starts in this environment.
Object.assign(process.env, compileCache, temporaryFolder());
const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const asking = filesAskingForPrograms();
const absent = new Map([...asking].flatMap(([file, lacks]) => (lacks === null ? [] : [[file, lacks] as const])));
if (process.env.SHOWRUNNER_TEST_COMPLETE !== undefined && absent.size > 0)
  throw new Error(`what should be installed is not here: ${[...absent.values()].map(({ cure }) => cure).join("; ")}`);
/** A test file that leaves its process changed has one of its own; all others share processes, which load `src` once. */
const changesItsProcess =
  /\bvi\.(?:mock|doMock|hoisted|resetModules)\b|process\.(?:chdir|on)\b|(?:process\.env|globalThis)(?:\.\w+|\[[^\]]+\]) = |(?:delete|assign\()\s*(?:process\.env|globalThis)|setGlobalDispatcher|files-in-memory/;
const isQuick = (file: string) => !/\.(?:long|full)\.test\.ts$/.test(file);
const sharing = globSync("test/**/*.test.ts", { cwd: at(".") }).filter(
  (file) => isQuick(file) && !asking.has(file) && !changesItsProcess.test(readFileSync(at(file), "utf8")),
);
export default defineConfig({
  resolve: {
    alias: [
      { find: /^showrunner$/, replacement: at("./src/index.ts") },
      { find: /^showrunner\/client$/, replacement: at("./src/core/api/index.ts") },
      { find: /^showrunner\/film$/, replacement: at("./src/film/index.ts") },
      { find: /^showrunner\/migrate$/, replacement: at("./src/migrate/index.ts") },
      { find: /^showrunner\/statecharts$/, replacement: at("./src/core/statecharts/index.ts") },
      { find: /^showrunner\/testing$/, replacement: at("./src/testing/index.ts") },
      { find: /^showrunner-local$/, replacement: at("./src/local-service/index.ts") },
    ],
  },
  test: {
    // `npm test` runs the quick ones, CI those that are long of what a change touches, and `npm run check:full` all.
    projects: [
      {
        extends: true,
        test: {
          name: "quick",
          include: ["test/**/*.test.ts"],
          exclude: [...defaultExclude, ...asking.keys(), "**/*.{long,full}.test.ts", ...sharing],
        },
      },
      {
        extends: true,
        test: { name: "quick-shared", isolate: false, include: sharing },
      },
      {
        extends: true,
        // What a fresh machine lacks programs for; CI runs these once it has them.
        test: {
          name: "quick-programs",
          include: [...asking.keys()].filter((file) => isQuick(file) && !absent.has(file)),
        },
      },
      ...["long", "full"].map((name) => ({
        extends: true as const,
        test: {
          name,
          include: [`test/**/*.${name}.test.ts`],
          exclude: [...defaultExclude, ...absent.keys()],
          // Some take 40 s on a busy machine.
          testTimeout: 180_000,
        },
      })),
    ],
    setupFiles: ["test/support/seed.ts"],
    sequence: { sequencer: LongestFirst },
    // Some tests race real processes, sockets and servers. On a busy machine one of them may lose what is no race of the
    // product; where nobody watches it gets a second try, and is named at the end as a fault to be mended.
    retry: process.env.CI ? 1 : 0,
    reporters: [
      "default",
      ...(process.env.GITHUB_ACTIONS === "true" ? ["github-actions"] : []),
      failedTests,
      flakyTests,
      skippedTests(absent),
    ],
    // A poll ends when what it waits for is there; how long that takes is the machine's affair.
    expect: { poll: { timeout: 50_000, interval: 40 } },
    // A full check draws many more examples.
    testTimeout: process.env.SHOWRUNNER_TEST_RUNS === undefined ? 60_000 : 600_000,
    // What starts a real server waits until it answers, or begins anew: a setup gets no second try.
    hookTimeout: 300_000,
    pool: "forks",
    // A third of a test's time is waiting; and most of what it makes is young.
    maxWorkers: 3,
    execArgv: ["--max-semi-space-size=64"],
  },
});
