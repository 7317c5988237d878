/** One group of files; scripts/mutation.ts says which, and where its report goes. @type {import("@stryker-mutator/api/core").PartialStrykerOptions} */
export default {
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  vitest: { configFile: "test/mutation/vitest.config.ts", related: false },
  // Each mutant meets only the tests that reach it. A constant of a module is reached by all of them or by none.
  coverageAnalysis: "perTest",
  ignoreStatic: true,
  // TypeScript 7 has no compiler for Stryker to check mutants with.
  tsconfigFile: "none",
  ignorePatterns: ["/dist", "/docs", "/site", "/out", "/bench", "/coverage", "/recipes/pictures", "node_modules"],
  tempDirName: "coverage/stryker",
  concurrency: 1,
  timeoutFactor: 1.5,
  timeoutMS: 2_000,
  // What is known of a mutant is kept for as long as its code and its tests are the same.
  incremental: true,
  reporters: ["progress-append-only"],
};
