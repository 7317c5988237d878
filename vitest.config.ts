import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { flakyTests } from "./test/support/flaky-tests.ts";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^showrunner$/, replacement: at("./src/index.ts") },
      { find: /^showrunner\/client$/, replacement: at("./src/api/index.ts") },
      { find: /^showrunner\/migrate$/, replacement: at("./src/migrate/index.ts") },
      { find: /^showrunner\/statecharts$/, replacement: at("./src/statecharts/index.ts") },
      { find: /^showrunner\/testing$/, replacement: at("./src/testing/index.ts") },
      { find: /^showrunner-local$/, replacement: at("./src/local-service/index.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/support/seed.ts"],
    // Some tests race real processes, sockets and servers. On a busy machine one of them may lose what is no race of the
    // product; where nobody watches it gets a second try, and is named at the end as a fault to be mended.
    retry: process.env.CI ? 1 : 0,
    reporters: ["default", ...(process.env.GITHUB_ACTIONS === "true" ? ["github-actions"] : []), flakyTests],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 2,
    typecheck: { enabled: true, include: ["test/**/*.test-d.ts"], tsconfig: "./tsconfig.json" },
  },
});
