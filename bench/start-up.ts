// Processor time of a start beyond bare Node, of what `node scripts/build.ts` built: imports, and commands on an empty journal.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatNumber, median } from "./stats.ts";

const ROUNDS = 7;
const built = (file: string) => new URL(`../dist/${file}`, import.meta.url).href;
const load = (file: string) => ["--input-type=module", "-e", `await import("${built(file)}")`];
const command = (...args: string[]) => [new URL("../dist/cli/main.js", import.meta.url).pathname, ...args];
const atExit = "process.on('exit', () => process.stderr.write('\\ncpu ' + JSON.stringify(process.cpuUsage())))";

const starts: Readonly<Record<string, { readonly args: readonly string[]; readonly most?: number }>> = {
  "bare Node": { args: ["-e", ""] },
  'import "showrunner"': { args: load("index.js"), most: 120 },
  'import "showrunner/client"': { args: load("api/index.js"), most: 60 },
  "showrunner --help": { args: command("--help") },
  "showrunner runs": { args: command("runs"), most: 300 },
};

const cwd = mkdtempSync(join(tmpdir(), "showrunner-start-up-"));
/** As `bin` does for commands; a program that imports the package may do without. */
const cached = { NODE_COMPILE_CACHE: join(cwd, "compiled") };
const samples = new Map(Object.keys(starts).map((name) => [name, [] as number[]]));
// The first round fills the compile cache.
for (let round = 0; round <= ROUNDS; round++) {
  for (const [name, { args }] of Object.entries(starts)) {
    const env = { ...process.env, ...(name.startsWith("showrunner ") && cached) };
    const { stderr } = spawnSync(process.execPath, ["--import", `data:text/javascript,${atExit}`, ...args], {
      cwd,
      env,
    });
    const { user, system } = JSON.parse(/^cpu (.*)$/m.exec(String(stderr))![1]!) as NodeJS.CpuUsage;
    if (round > 0) samples.get(name)!.push((user + system) / 1000);
  }
}
rmSync(cwd, { recursive: true });

const bare = median(samples.get("bare Node")!);
for (const [name, { most }] of Object.entries(starts)) {
  const beyond = median(samples.get(name)!) - bare;
  const bar = most === undefined ? "" : `   at most ${most}: ${beyond <= most ? "met" : "missed"}`;
  console.log(`${name.padEnd(30)} ${formatNumber(beyond).padStart(6)} ms${bar}`);
}
console.log(`(medians of ${ROUNDS}, beyond the ${formatNumber(bare)} ms of bare Node)`);
