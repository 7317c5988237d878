import { styleText } from "node:util";
import type { Reporter, TestCase, TestModule } from "vitest/node";

const testsOf = (modules: readonly TestModule[]) => modules.flatMap((file) => [...file.children.allTests()]);

/** Prints at the end how to run each failed test alone. */
export const failedTests: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]) {
    const failed = testsOf(modules).filter((one) => one.result().state === "failed");
    const setups = modules.filter((file) => file.state() === "failed" && !failed.some(({ module }) => module === file));
    const commands = new Set([...failed.map(commandOf), ...setups.map((file) => run(file.relativeModuleId))]);
    for (const command of commands) console.error(styleText("red", `repeat it: ${command}`));
  },
};

const run = (file: string) => `npx vitest run ${file}`;

function commandOf({ module, fullName }: TestCase): string {
  // Vitest takes the name for a pattern, and joins the parts of it by spaces.
  const pattern = fullName.replaceAll(" > ", " ").replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return `${run(module.relativeModuleId)} -t '${pattern.replaceAll("'", "'\\''")}'`;
}

/** Prints at the end which tests passed only on the second try, with the first error. Each is a defect. */
export const flakyTests: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]) {
    const flaky = testsOf(modules).filter((one) => one.diagnostic()?.flaky);
    if (flaky.length === 0) return;
    console.error(styleText(["bold", "red"], `\n${flaky.length} FLAKY: passed on the second try only`));
    for (const one of flaky) {
      console.error(styleText("red", `  ${one.module.relativeModuleId} > ${one.fullName}`));
      for (const error of one.result().errors ?? []) console.error(`    ${error.stack ?? error.message}`);
    }
  },
};
