import { styleText } from "node:util";
import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";

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
  return one.meta().lacks ?? note ?? `a reason: ${one.module.relativeModuleId} > ${one.fullName}`;
}
