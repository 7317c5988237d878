/**
 * Bundles the tests of a group and their imports into one script, which is evaluated again for each mutant. State that a
 * mutant left in a module does not affect the next mutant, and no mutant requires a new process.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { performance } from "node:perf_hooks";
import { format } from "node:util";
import { Script } from "node:vm";
import { build, type Plugin } from "vite";
import { expect } from "vitest";

const load = createRequire(import.meta.url);
// The same few examples each time. A mutant is dead at the first that fails; a smaller one helps nobody.
load("fast-check").configureGlobal({ numRuns: 20, seed: 20_261_121, endOnFailure: true });

export interface Test {
  /** File, suites and name of the test. */
  readonly id: string;
  run(): unknown;
}

export function fileOf({ id }: Pick<Test, "id">): string {
  return id.split(" > ")[0]!;
}

/** Evaluates the script and returns its tests. */
export type Suite = () => readonly Test[];

const ENTRY = "tests-of-the-group";

/** Bundles test files of a folder. */
export async function suiteIn(folder: string, files: readonly string[]): Promise<Suite> {
  const kept = join(folder, "tests-of-the-group.cjs");
  const code = readIfThere(kept) ?? (await bundled(folder, files));
  writeFileSync(kept, code);
  const script = new Script(`(function (require, module, exports, __filename) {${code}\n})`, { filename: kept });
  return () => {
    const tests: Test[] = [];
    const vitest = collecting(tests);
    const module = { exports: {} };
    script.runInThisContext()(
      (name: string) => (name === "vitest" ? vitest : load(name)),
      module,
      module.exports,
      kept,
    );
    return tests;
  };
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}

async function bundled(folder: string, files: readonly string[]): Promise<string> {
  const whole: Plugin = {
    name: ENTRY,
    enforce: "pre",
    resolveId: (id) => (id === ENTRY ? id : null),
    load: (id) =>
      id === ENTRY ? files.map((file) => `import ${JSON.stringify(join(folder, file))};`).join("\n") : null,
    transform(code, id) {
      const own = code.replaceAll("import.meta.dirname", JSON.stringify(dirname(id)));
      return id.endsWith(".test.ts")
        ? `import { file as begins } from "vitest"; begins(${JSON.stringify(relative(folder, id))});\n${own}`
        : own;
    },
  };
  const result = await build({
    configFile: false,
    root: folder,
    logLevel: "error",
    plugins: [whole],
    // What a script cannot require; all else is loaded once.
    ssr: { noExternal: ["canonicalize", "json-schema-faker", "tinyqueue"] },
    build: {
      ssr: true,
      write: false,
      minify: false,
      target: "esnext",
      rolldownOptions: { input: ENTRY, treeshake: false, output: { format: "cjs", codeSplitting: false } },
    },
  });
  const [output] = [result].flat();
  if (output === undefined || !("output" in output)) throw new Error("The tests were not bundled.");
  return output.output[0].code;
}

/** Replaces vitest for test files: the real `expect`, and functions that add tests to a list instead of running them. */
function collecting(tests: Test[]) {
  let around: readonly string[] = [];
  const seen = new Map<string, number>();
  const test = (name: string, run: () => unknown) => {
    const id = [...around, name].join(" > ");
    const count = (seen.get(id) ?? 0) + 1;
    seen.set(id, count);
    tests.push({ id: count === 1 ? id : `${id} (${count})`, run });
  };
  const describe = (name: string, define: () => void) => {
    const before = around;
    around = [...around, name];
    define();
    around = before;
  };
  const each = (define: (name: string, run: () => unknown) => void) => (rows: readonly unknown[]) => {
    return (name: string, run: (...row: unknown[]) => unknown) => {
      for (const row of rows.map((one) => (Array.isArray(one) ? one : [one])))
        define(format(name, ...row.slice(0, 1).map(String)), () => run(...row));
    };
  };
  const hook = () => {
    throw new Error("Tests of the pure core need no hooks.");
  };
  return {
    ...{ expect, beforeEach: hook, afterEach: hook, beforeAll: hook, afterAll: hook },
    describe: Object.assign(describe, { each: each(describe as never) }),
    test: Object.assign(test, { each: each(test) }),
    vi: { setConfig: () => {} },
    file: (path: string) => {
      around = [path];
    },
  };
}

/** Runs a test. Returns its duration in ms, and why it failed; null if it passed. */
export async function outcomeOf({ run }: Test): Promise<{ readonly ms: number; readonly failure: string | null }> {
  const started = performance.now();
  let failure: string | null = null;
  try {
    await run();
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
  }
  return { ms: performance.now() - started, failure };
}
