import { styleText } from "node:util";
import type { Reporter, TestModule } from "vitest/node";

/** Says at the end which tests passed on their second try only, and what was wrong with the first: each is a fault. */
export const flakyTests: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]) {
    const flaky = modules.flatMap((file) => [...file.children.allTests()]).filter((one) => one.diagnostic()?.flaky);
    if (flaky.length === 0) return;
    console.error(styleText(["bold", "red"], `\n${flaky.length} FLAKY: passed on the second try only`));
    for (const one of flaky) {
      console.error(styleText("red", `  ${one.module.relativeModuleId} > ${one.fullName}`));
      for (const error of one.result().errors ?? []) console.error(`    ${error.stack ?? error.message}`);
    }
  },
};
