import { defineConfig } from "vitest/config";
import base from "../../vitest.config.ts";
import { COVERAGE_TESTS, GROUPS } from "./files.ts";

const { projects: _, ...shared } = base.test ?? {};

/** Measures which lines of the pure core its own tests and the in-process engine tests reach: `npm run coverage`. */
export default defineConfig({
  ...base,
  test: {
    ...shared,
    include: [...COVERAGE_TESTS],
    // Loads the sources once, not once per test file.
    isolate: false,
    typecheck: { enabled: false },
    coverage: {
      enabled: true,
      provider: "v8",
      include: [...new Set(Object.values(GROUPS).flatMap(({ mutate }) => mutate))],
      reporter: ["text"],
      reportsDirectory: "coverage/lines",
      thresholds: { lines: 95 },
    },
  },
});
