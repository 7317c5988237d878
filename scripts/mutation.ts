/**
 * Runs Stryker's mutation tests of the pure core: all of them with `npm run mutation`, or some groups with
 * `npm run mutation -- decide lifecycle`. `--sample 10` tests only every tenth mutant, `--sample 3/10` a different tenth,
 * and `--concurrency 4` uses 4 processes.
 *
 * Without `--sample`, tests the mutants in ten parts. The result of each part is stored in coverage/mutation until the core
 * or its tests change, so an interrupted run continues where it stopped.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { filesOf, GROUPS } from "../test/mutation/files.ts";
import { sampleOf } from "../test/mutation/sample.ts";
import { type Judged, judgedIn, scoresBy, survivorText } from "../test/mutation/score.ts";

/** Percentage of the tested mutants that tests must kill. */
const WANTED = 80;
const TENTHS = Array.from({ length: 10 }, (_, index) => `${index + 1}/10`);

const root = join(import.meta.dirname, "..");
const kept = join(root, "coverage", "mutation");
mkdirSync(kept, { recursive: true });
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { sample: { type: "string" }, concurrency: { type: "string", default: "1" } },
});
const unknown = positionals.filter((name) => GROUPS[name] === undefined);
if (unknown.length > 0) throw new Error(`Unknown group ${unknown.join(", ")}; use ${Object.keys(GROUPS).join(", ")}.`);
const stryker = join(root, "test", "mutation", "node_modules", "@stryker-mutator", "core", "bin", "stryker.js");
if (!existsSync(stryker)) throw new Error("Stryker is not installed; run `npm run mutation`, which installs it.");

const names = positionals.length === 0 ? Object.keys(GROUPS) : positionals;
const parts = values.sample === undefined ? TENTHS : [values.sample];
const text = textOfCore();
const judged = names.flatMap((name) => parts.flatMap((part) => judge(name, part)));
console.table(scoresBy(judged, ({ file }) => file));
const folders = scoresBy(judged, ({ file }) => file.slice(0, file.lastIndexOf("/")));
console.table({ ...folders, ...scoresBy(judged, () => "the whole") });
writeFileSync(join(kept, "survivors.txt"), survivorText(judged));
console.log("The surviving mutants are in coverage/mutation/survivors.txt.");
const low = Object.entries(folders).filter(([, { high }]) => high < WANTED);
if (low.length > 0) {
  console.error(`Less than ${WANTED} % killed in: ${low.map(([folder]) => folder).join(", ")}.`);
  process.exit(1);
}

/** Tests one part of a group, or reads its stored result. */
function judge(name: string, part: string): readonly Judged[] {
  const { mutate, tests } = GROUPS[name]!;
  const sample = sampleOf(part);
  const file = join(kept, `${name}-${sample.part}-of-${sample.of}-${text}.json`);
  if (!existsSync(file)) {
    console.log(`${name}, part ${sample.part} of ${sample.of}`);
    const args = [
      "run",
      "test/mutation/stryker.config.js",
      "--mutate",
      mutate.join(","),
      "--concurrency",
      values.concurrency,
    ];
    const { status } = spawnSync(process.execPath, [stryker, ...args], {
      cwd: root,
      stdio: "inherit",
      env: {
        ...process.env,
        SHOWRUNNER_MUTATION_TESTS: tests.join(","),
        SHOWRUNNER_MUTATION_SAMPLE: part,
        SHOWRUNNER_TEST_SHARE: "0.02",
      },
    });
    if (status !== 0) throw new Error(`Stryker failed to test ${name}.`);
    renameSync(join(kept, "last.json"), file);
  }
  const all = judgedIn(JSON.parse(readFileSync(file, "utf8")), sample);
  return parts.length === 1 ? all : all.filter(({ isKilled }) => isKilled !== null);
}

/** Hashes all files that can affect a result. */
function textOfCore(): string {
  const code = ["src/core/**/*.ts", "test/{core,support}/**/*.ts", "test/mutation/*.{ts,js}"];
  const files = filesOf([...code, "docs/lifecycle.md", "package-lock.json"]);
  const hash = createHash("sha256");
  for (const file of files.filter((path) => !path.includes("node_modules/")))
    hash.update(file).update(readFileSync(join(root, file)));
  return hash.digest("hex").slice(0, 12);
}
