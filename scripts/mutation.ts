/**
 * Mutation tests of the pure core by Stryker: `npm run mutation`, or some groups of it, `npm run mutation -- decide lifecycle`.
 * Each group meets only the tests of its own folders. What is known of unchanged code is kept in coverage/mutation.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Killed in percent, of the mutants that run. What is below is said; it fails nothing until all folders have once been above. */
const WANTED = 80;

interface Group {
  readonly mutate: readonly string[];
  /** Test files, relative to `test`. */
  readonly tests: readonly string[];
}

const groups: Readonly<Record<string, Group>> = {
  decide: { mutate: ["src/run/kinds/*.ts", "src/run/*.ts"], tests: ["run/*.test.ts"] },
  fold: {
    mutate: [
      ...["fold", "state", "replan", "overcharge"].map((name) => `src/journal/${name}.ts`),
      "src/journal/events/*.ts",
    ],
    tests: ["run/*.test.ts", "journal/{fold,replan}.test.ts"],
  },
  plan: { mutate: ["src/plan/**/*.ts"], tests: ["{plan,define}/*.test.ts"] },
  define: { mutate: ["src/define/**/*.ts"], tests: ["{plan,define}/*.test.ts"] },
  lifecycle: { mutate: ["src/lifecycle/*.ts"], tests: ["lifecycle/*.test.ts"] },
  view: { mutate: ["src/run/view/*.ts"], tests: ["run/*.test.ts"] },
};

interface Report {
  readonly files: Readonly<Record<string, { readonly mutants: readonly { readonly status: string }[] }>>;
}

const root = join(import.meta.dirname, "..");
const reports = join(root, "coverage", "mutation");
mkdirSync(reports, { recursive: true });
const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => groups[name] === undefined);
if (unknown.length > 0) throw new Error(`No group ${unknown.join(", ")}; there are ${Object.keys(groups).join(", ")}.`);

const stryker = join(root, "test", "mutation", "node_modules", "@stryker-mutator", "core", "bin", "stryker.js");
if (!existsSync(stryker)) throw new Error("Stryker is not installed: start this by `npm run mutation`.");

const names = chosen.length === 0 ? Object.keys(groups) : chosen;
for (const name of names) run(name, groups[name]!);
const scores = names.flatMap((name) => scoresOf(join(reports, `${name}.json`)));
console.table(Object.fromEntries(scores.map(({ folder, ...score }) => [folder, score])));
const low = scores.filter(({ percent }) => percent < WANTED);
if (low.length > 0) {
  console.error(
    `Below ${WANTED} %: ${low.map(({ folder }) => folder).join(", ")}. Survivors are in coverage/mutation.`,
  );
  process.exit(1);
}

function run(name: string, { mutate, tests }: Group): void {
  const at = (file: string) => join(reports, file);
  const { status } = spawnSync(
    process.execPath,
    [
      stryker,
      "run",
      "test/mutation/stryker.config.js",
      "--mutate",
      mutate.join(","),
      "--incrementalFile",
      at(`${name}.json`),
    ],
    { cwd: root, stdio: "inherit", env: { ...process.env, SHOWRUNNER_MUTATION_TESTS: tests.join(",") } },
  );
  if (status !== 0) throw new Error(`Stryker could not judge ${name}.`);
}

/** By folder. A mutant that no test reaches counts as alive; constants of modules are not tried. */
function scoresOf(file: string) {
  const folders = new Map<string, string[]>();
  const { files } = JSON.parse(readFileSync(file, "utf8")) as Report;
  for (const [path, { mutants }] of Object.entries(files))
    folders.set(dirname(path), [...(folders.get(dirname(path)) ?? []), ...mutants.map(({ status }) => status)]);
  return [...folders].map(([folder, all]) => {
    const count = (...statuses: readonly string[]) => all.filter((status) => statuses.includes(status)).length;
    const [killed, alive] = [count("Killed", "Timeout"), count("Survived", "NoCoverage")];
    return { folder, killed, alive, percent: Math.round((1000 * killed) / Math.max(1, killed + alive)) / 10 };
  });
}
