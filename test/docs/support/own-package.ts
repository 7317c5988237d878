import { registerHooks } from "node:module";

/** Lets examples import the package by its name, as users do. Loaded with `--import`. */
const entries: Readonly<Record<string, string>> = {
  showrunner: "../../../src/index.ts",
  "showrunner/browser": "../../../src/studio/browser/index.ts",
  "showrunner/client": "../../../src/core/api/index.ts",
  "showrunner/film": "../../../src/film/index.ts",
  "showrunner/handler": "../../../src/studio/handler/index.ts",
  "showrunner/migrate": "../../../src/migrate/index.ts",
  "showrunner/statecharts": "../../../src/core/statecharts/index.ts",
  "showrunner/testing": "../../../src/testing/index.ts",
  "showrunner/telemetry": "../../../src/fleet/telemetry/index.ts",
  "showrunner/worker": "../../../src/fleet/worker/index.ts",
  "showrunner/pg-boss": "../../../src/fleet/pg-boss/index.ts",
  "showrunner/restate": "../../../src/fleet/restate/index.ts",
  "showrunner-local": "../../../src/local-service/index.ts",
};

registerHooks({
  resolve(specifier, context, nextResolve) {
    const entry = entries[specifier];
    return entry === undefined
      ? nextResolve(specifier, context)
      : { url: new URL(entry, import.meta.url).href, shortCircuit: true };
  },
});
