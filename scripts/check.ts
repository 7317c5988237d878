/**
 * What must hold before a change is kept, cheapest first; CI runs this file unchanged. Stops at the first step that fails
 * and shows its output. `--full` adds the second command's tests, long random searches, how much of the pure core the tests
 * hold, and the peers' speed, which decides nothing.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { styleText } from "node:util";

interface Step {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** True for the long steps: their output is shown as it comes. */
  readonly live?: boolean;
  /** Its properties take the usual number of examples, also in a full check. */
  readonly isShort?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, "..");
const full = process.argv.includes("--full");
const bin = (name: string) => join(root, "node_modules", ".bin", name);

const steps: readonly Step[] = [
  { name: "format and lint", command: bin("biome"), args: ["ci", "."] },
  { name: "types and type tests", command: bin("tsc"), args: ["--noEmit"] },
  { name: "types of the dashboard's page", command: bin("tsc"), args: ["-p", "src/dashboard/page"] },
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
  {
    name: "tests and code in the docs",
    command: bin("vitest"),
    args: ["run", ...(full ? [] : ["--project=quick*"])],
    live: true,
  },
  ...(full
    ? [
        { name: "lines of the pure core that tests reach", command: "npm", args: ["run", "coverage"], isShort: true },
        { name: "what got slower", command: "npm", args: ["run", "bench:guard"], live: true, isShort: true },
        {
          name: "throughput, wakes and parked runs on PostgreSQL",
          command: "npm",
          args: ["run", "bench", "--", "postgres", "wakes", "parked", "--quick"],
          live: true,
          isShort: true,
        },
        { name: "speed beside peers", command: "npm", args: ["run", "bench:peers"], live: true, isShort: true },
        {
          name: "mutants of the pure core that tests kill",
          command: "npm",
          args: ["run", "mutation"],
          live: true,
          isShort: true,
        },
      ]
    : []),
];

for (const [index, step] of steps.entries()) {
  const started = performance.now();
  console.log(styleText("bold", `[${index + 1}/${steps.length}] ${step.name}`));
  const status = await perform(step);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (status !== 0) {
    console.error(styleText("red", `failed after ${seconds} s: ${step.name}`));
    console.error(`run it alone: npx ${[step.command.split("/").pop(), ...step.args].join(" ")}`);
    process.exit(1);
  }
  console.log(styleText("green", `      passed in ${seconds} s`));
}

/** Runs one step; the output of a quiet one is shown only when it failed. */
function perform(step: Step): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const child = spawn(step.command, step.args, {
    cwd: root,
    env: { ...process.env, ...step.env, ...(full && step.isShort !== true && { SHOWRUNNER_TEST_RUNS: "1000" }) },
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
