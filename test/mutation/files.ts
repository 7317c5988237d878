/** The files that mutation tests and coverage use. */
import { globSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..", "..");

/** Returns the matching files, sorted. Throws if a pattern, or one of its alternatives, matches nothing. */
export function filesOf(patterns: readonly string[]): readonly string[] {
  const found = patterns.flatMap(alternatives).flatMap((pattern) => {
    const files = globSync(pattern, { cwd: root });
    if (files.length === 0) throw new Error(`No file matches ${pattern}. If the files moved, correct the pattern.`);
    return files.map((file) => file.replaceAll("\\", "/"));
  });
  return [...new Set(found)].sort();
}

/** Splits `{a,b}.ts` into `a.ts` and `b.ts`, so that each must match. */
function alternatives(pattern: string): readonly string[] {
  const [, before, names, after] = /^(.*?)\{(.*?)\}(.*)$/.exec(pattern) ?? [];
  return names === undefined ? [pattern] : names.split(",").flatMap((name) => alternatives(`${before}${name}${after}`));
}

/** These tests start compilers. */
const COMPILING = filesOf(["test/core/define/{hovers,messages}.test.ts"]);

/** Returns the matching test files, except for long tests and tests that start compilers. Patterns are relative to `test`. */
export function testsOf(patterns: readonly string[]): readonly string[] {
  const files = filesOf(patterns.map((pattern) => `test/${pattern}.test.ts`));
  return files.filter((file) => !/\.(?:long|full)\.test\.ts$/.test(file) && !COMPILING.includes(file));
}

const REWRITES = testsOf(["core/plan/rewrites"]);

/** A part of the pure core, and the tests that must detect its mutants. */
interface Group {
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
}

export const GROUPS: Readonly<Record<string, Group>> = {
  lifecycle: {
    mutate: filesOf(["src/core/lifecycle/*.ts"]),
    tests: testsOf(["core/lifecycle/*", "docs/lifecycle"]),
  },
  plan: {
    mutate: filesOf(["src/core/plan/**/*.ts"]),
    tests: testsOf([
      "core/{plan,define}/*",
      "core/catalog/{validate,diff}",
      "core/run/{revise,simulated-time,result-cache,took}",
    ]),
  },
  define: {
    mutate: filesOf(["src/core/define/**/*.ts"]),
    // Without the tests of `define/steps/rewrite.ts`, which throws when Stryker instruments it.
    tests: testsOf(["core/{plan,define}/*"]).filter((file) => !REWRITES.includes(file)),
  },
  fold: {
    mutate: filesOf(["src/core/journal/{events,state}.ts", "src/core/journal/events/*.ts"]),
    tests: testsOf(["core/run/*", "core/journal/{fold,replan,overcharge,event-texts}"]),
  },
  decide: { mutate: filesOf(["src/core/run/**/*.ts"]), tests: testsOf(["core/run/*"]) },
  view: { mutate: filesOf(["src/core/view/*.ts"]), tests: testsOf(["core/view/*"]) },
};

/** The tests of the pure core, and tests that run the engine in their own process. */
export const COVERAGE_TESTS = testsOf([
  "core/{define,plan,lifecycle,run,view,families}/*",
  "core/journal/{fold,replan,overcharge,event-texts,snapshot,active-time}",
  "core/engine/{account-move,adoption,approval-parking,before-the-start,caps,compare,drift,drift-expand,expiry}",
  "core/engine/{failure-policy,gc,giving-up,going-on,kinds-*,no-guess,overcharge,profile,rerun,rerun-requests}",
  "core/engine/{reuse,run,seeds-of-reruns,second-choices,slices,stops,unresolved}",
  "docs/lifecycle",
]);
