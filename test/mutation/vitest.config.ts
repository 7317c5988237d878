import { defineConfig } from "vitest/config";
import base from "../../vitest.config.ts";

/** Properties try a twentieth of their examples: a mutant is judged in a second or two. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ["test/mutation/core.ts"],
    typecheck: { enabled: false },
    env: { SHOWRUNNER_TEST_SHARE: "0.05" },
  },
});
