/** One group of files; scripts/mutation.ts says which, and where its report goes. @type {import("@stryker-mutator/api/core").PartialStrykerOptions} */
export default {
  testRunner: "in-process",
  plugins: ["./test/mutation/in-process-runner.ts"],
  // Each mutant meets only the tests that reach it, one that is evaluated with its module all of them.
  coverageAnalysis: "perTest",
  // TypeScript 7 has no compiler for Stryker to check mutants with.
  tsconfigFile: "none",
  ignorePatterns: ["/dist", "/docs/*", "!/docs/lifecycle.md", "/out", "/coverage", "/recipes/pictures", "node_modules"],
  tempDirName: "coverage/stryker",
  timeoutFactor: 3,
  timeoutMS: 20_000,
  dryRunTimeoutMinutes: 15,
  // Stryker could not tell which tests have changed: scripts/mutation.ts keeps results.
  incremental: false,
  reporters: ["progress-append-only", "json"],
  jsonReporter: { fileName: "coverage/mutation/last.json" },
  warnings: { slow: false },
};
