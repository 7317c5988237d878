import { defineConfig } from "vitest/config";
import base from "../../vitest.config.ts";

const { projects: _, ...shared } = base.test ?? {};

/** Measures which lines of the pure core its own tests and the in-process engine tests reach: `npm run coverage`. */
export default defineConfig({
  ...base,
  test: {
    ...shared,
    include: [
      "test/{define,plan,lifecycle,run,families,report}/**/*.test.ts",
      "test/core/journal/{event-texts,snapshot,active-time}.test.ts",
      "test/docs/lifecycle.test.ts",
      "test/core/engine/{account-move,adoption,approval-parking,before-the-start,caps,compare,drift,drift-expand,expiry}.test.ts",
      "test/core/engine/{failure-policy,gc,giving-up,going-on,kinds-*,no-guess,overcharge,profile,rerun,rerun-requests}.test.ts",
      "test/core/engine/{reuse,run,slices,stops,unresolved}.test.ts",
    ],
    // These start compilers, or only repeat on a thousand graphs what others reach.
    exclude: ["test/core/define/{hovers,messages}.test.ts", "**/*.{long,full}.test.ts"],
    typecheck: { enabled: false },
    coverage: {
      enabled: true,
      provider: "v8",
      include: [
        "src/{define,plan,lifecycle,run}/**",
        "src/core/journal/{fold,state,replan,overcharge}.ts",
        "src/core/journal/events/**",
      ],
      reporter: ["text"],
      reportsDirectory: "coverage/lines",
      thresholds: { lines: 95 },
    },
  },
});
