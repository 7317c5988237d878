import { styleText } from "node:util";
import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from "vitest/node";

let isFiltered = false;

/** Says last which tests, and which whole files, were not run, and what would bring what they lack. */
export const skippedTests = (files: ReadonlyMap<string, string>): Reporter => ({
  onInit(vitest: Vitest) {
    isFiltered = vitest.config.testNamePattern !== undefined;
  },
  onTestRunEnd(modules: readonly TestModule[]) {
    const skipped = modules.flatMap((file) => [...file.children.allTests("skipped")]);
    if (isFiltered || skipped.length + files.size === 0) return;
    console.error(styleText(["bold", "yellow"], "\nNOT RUN"));
    for (const [reason, of] of Map.groupBy(files, ([, lacks]) => lacks))
      console.error(`  ${of.length} files for lack of ${reason}`);
    for (const [reason, tests] of Map.groupBy(skipped, reasonOf))
      console.error(`  ${tests.length} tests for lack of ${reason}`);
  },
});

function reasonOf(one: TestCase): string {
  const result = one.result();
  const note = result.state === "skipped" ? result.note : undefined;
  return (
    one.meta().lacks ??
    note ??
    (setupFailed(one) ? `a setup: that of ${one.module.relativeModuleId} failed` : unsaid(one))
  );
}

/** A failed `beforeAll` is an error of its suite, or of its file, and leaves the tests below it skipped. */
function setupFailed(one: TestCase): boolean {
  for (let around: TestSuite | TestModule = one.parent; ; around = around.parent) {
    if (around.errors().length > 0) return true;
    if (around.type === "module") return false;
  }
}

function unsaid(one: TestCase): string {
  return `a reason: ${one.module.relativeModuleId} > ${one.fullName}`;
}
