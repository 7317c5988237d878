import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

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
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 2,
    typecheck: { enabled: true, include: ["test/**/*.test-d.ts"], tsconfig: "./tsconfig.json" },
  },
});
